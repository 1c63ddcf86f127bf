/** Each signature of a call reaches the members of each API: its container stands before all calls, because clients refuse it behind one. */
import t from 'tap'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { readAnswerEvents } from '../../../../src/codecs/chat/read-events.ts'
import { readThoughtSignature } from '../../../../src/codecs/gemini/thought-containers.ts'
import { decoders, unseal, writeStream, writeWhole } from './write-answer.ts'

const part = (name: string, thoughtSignature?: string) => ({
  functionCall: { id: name, name, args: {} },
  ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
})
const gemini = (...parts: readonly object[]) =>
  decoders.gemini().decode({ candidates: [{ content: { parts }, finishReason: 'STOP' }] }) as readonly AnswerEvent[]
const extra = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } })
const chat = (...calls: readonly object[]) =>
  calls.flatMap((call, index) =>
    readAnswerEvents({ choices: [{ delta: { tool_calls: [{ index, type: 'function', ...call }] } }] }),
  )
const called = (id: string, fields: object = {}) => ({ id, function: { name: id, arguments: '{}' }, ...fields })
const finish: AnswerEvent = { kind: 'finish', reason: 'tool_calls' }

const cases: readonly {
  readonly name: string
  readonly events: readonly AnswerEvent[]
  readonly signatures: readonly string[]
}[] = [
  { name: 'Gemini, both calls signed', events: gemini(part('a', 'c2ln'), part('b', 'c2lu')), signatures: ['c2ln', 'c2lu'] },
  { name: 'Gemini, the second call signed', events: gemini(part('a'), part('b', 'c2lu')), signatures: ['c2lu'] },
  {
    name: 'Gemini, thoughts between the calls',
    events: gemini(part('a', 'c2ln'), { text: 'Hm.', thought: true }, part('b', 'c2lu'), part('c', 'c2lv')),
    signatures: ['c2ln', 'c2lu', 'c2lv'],
  },
  {
    name: "Gemini's compatible endpoint",
    events: [...chat(called('a', extra('c2ln')), called('b', extra('c2lu'))), finish],
    signatures: ['c2ln', 'c2lu'],
  },
  {
    name: 'OpenRouter',
    events: [
      ...chat(
        ...['a', 'b'].map((id) => called(id, { reasoning_details: [{ type: 'reasoning.encrypted', data: `${id}-data`, id }] })),
      ),
      finish,
    ],
    signatures: ['a-data', 'b-data'],
  },
]

/** The containers and the calls, in their order; a container as the text that was sealed in it. */
const readers: Readonly<Record<'messages' | 'responses' | 'gemini', (answer: JsonObject) => readonly string[]>> = {
  messages: ({ content }) =>
    (content as JsonObject[]).map(({ type, data, id, signature }) =>
      type === 'tool_use' ? `call ${String(id)}` : String(data ?? signature),
    ),
  responses: ({ output }) =>
    (output as JsonObject[]).map(({ type, encrypted_content: container, call_id: id }) =>
      type === 'function_call' ? `call ${String(id)}` : String(container),
    ),
  gemini: ({ candidates }) =>
    ((candidates as { content: { parts: JsonObject[] } }[])[0]?.content.parts ?? []).flatMap(
      ({ functionCall, thoughtSignature }) => [
        ...readThoughtSignature(thoughtSignature, { model: 'svc-2.1', unseal }).map(({ signed }) =>
          JSON.stringify(signed ?? null),
        ),
        ...(functionCall === undefined ? [] : [`call ${String((functionCall as JsonObject)['id'])}`]),
      ],
    ),
}

for (const { name, events, signatures } of cases)
  t.test(`each signature survives: ${name}`, async (t) => {
    for (const api of ['messages', 'responses', 'gemini'] as const)
      for (const [how, write] of Object.entries({ whole: writeWhole, streamed: writeStream })) {
        const written = readers[api](write(api, events))
        for (const signature of signatures)
          t.equal(written.filter((each) => each.includes(signature)).length, 1, `${api}, ${how}: ${signature}`)
        if (api === 'gemini') continue
        const firstCall = written.findIndex((each) => each.startsWith('call '))
        t.ok(
          written.slice(firstCall).every((each) => each.startsWith('call ')),
          `${api}, ${how}: the calls stand last`,
        )
      }
  })
