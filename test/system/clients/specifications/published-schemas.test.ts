/** Answers, events and errors are valid against the OpenAPI documents that OpenAI and Anthropic publish. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { startScriptedModel } from '../support/scripted-model.ts'
import { answerQuestion, apis, commonQuestions } from './exchanges.ts'
import type { ApiName, JudgedApi } from './exchanges.ts'
import { openSpecifications } from './specifications.ts'

type Document = Readonly<Record<string, unknown>>

interface Judged {
  readonly name: string
  readonly provider: JudgedApi['provider']
  readonly schema: string
  readonly document: Document
}

/** Every type of event that the encoders write, so that a case that no longer reaches one is noticed. */
const expectedTypes: Readonly<Record<ApiName, readonly string[]>> = {
  responses: [
    'response.completed',
    'response.content_part.added',
    'response.content_part.done',
    'response.created',
    'response.custom_tool_call_input.delta',
    'response.custom_tool_call_input.done',
    'response.failed',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.in_progress',
    'response.incomplete',
    'response.output_item.added',
    'response.output_item.done',
    'response.output_text.annotation.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_part.done',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.done',
    'response.web_search_call.completed',
    'response.web_search_call.in_progress',
    'response.web_search_call.searching',
  ],
  messages: [
    'content_block_delta',
    'content_block_start',
    'content_block_stop',
    'message_delta',
    'message_start',
    'message_stop',
  ],
}

const withoutFields = 'without fields'

/** A document of these alone is valid without them: `message_stop` has its type and, beyond the schema, what the turn cost. */
const optionalFields = ['type', 'charge']

/** Null in a response here, as Open Responses requires and OpenAI's servers do; OpenAI's document would have the field absent. */
const nullsOfResponses = ['usage', 'safety_identifier', 'prompt_cache_key', 'text.format.description']

for (const api of Object.keys(apis) as ApiName[])
  t.test(`what ${apis[api].path} sends is valid against the schema of its provider`, async (t) => {
    const interpreter = await openSpecifications(t)
    if (interpreter === undefined) return
    const model = await startScriptedModel(t, answerQuestion)
    const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } } })
    const { token } = await gateway.createMember()
    const { path, provider, base, ask, requests, unknownModelStatus, ...schemas } = apis[api]
    const judged: Judged[] = []
    const add = (name: string, schema: string, document: unknown): void =>
      void judged.push({ name, provider, schema, document: document as Document })
    const send = (body: object, key = token) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })

    for (const [question, extra] of [...commonQuestions.map((each) => [each, {}] as const), ...Object.entries(requests)]) {
      const body = { ...base, ...ask(question, question === 'image'), ...extra }
      const whole = await send(body)
      t.equal(whole.status, 200, question)
      add(question, schemas.schema, await whole.json())
      const streamed = await send({ ...body, stream: true })
      for (const event of readEvents(await streamed.text())) add(`${question}, streamed`, schemas.eventSchema, event)
    }
    const cut = await send({ ...base, ...ask('cut'), stream: true })
    // A failure in a stream of the Messages API has the form of an error that is answered.
    for (const event of readEvents(await cut.text()))
      add('cut', event['type'] === 'error' ? schemas.errorSchema : schemas.eventSchema, event)
    for (const [name, status, response] of [
      ['a wrong body', 400, await send({ ...base, ...ask('hello'), temperature: 'hot' })],
      ['a wrong key', 401, await send({ ...base, ...ask('hello') }, 'svc_wrong')],
      ['another model', unknownModelStatus, await send({ ...base, ...ask('hello'), model: 'gpt-x' })],
    ] as const) {
      t.equal(response.status, status, name)
      add(name, schemas.errorSchema, await response.json())
    }

    const events = judged.filter(({ schema }) => schema === schemas.eventSchema)
    t.same([...new Set(events.map(({ document }) => document['type']))].toSorted(), expectedTypes[api])
    if (api === 'responses') omitNulls(judged, t)
    const wrong = judged
      .filter(({ document }) => Object.keys(document).some((name) => !optionalFields.includes(name)))
      .map((each) => ({ ...each, name: withoutFields, document: { type: each.document['type'] } }))
    const violations = validate(interpreter, [...judged, ...wrong])
    const isWrong = (violation: string): boolean => violation.startsWith(withoutFields)
    t.same(
      violations.filter((each) => !isWrong(each)),
      [],
    )
    t.equal(violations.filter(isWrong).length, wrong.length, 'a document without its fields is not valid')
  })

/** Each of the fields has to be null somewhere, or its line above can be deleted. */
function omitNulls(judged: readonly Judged[], t: { same(found: unknown, wanted: unknown): unknown }): void {
  const omitted = new Set<string>()
  for (const { document } of judged)
    for (const path of nullsOfResponses) {
      const names = path.split('.')
      const last = names.pop() ?? ''
      const response = document['response'] ?? document
      const place = names.reduce<unknown>((value, name) => (value as Document | undefined)?.[name], response)
      if (typeof place !== 'object' || place === null || (place as Document)[last] !== null) continue
      Reflect.deleteProperty(place, last)
      omitted.add(path)
    }
  t.same([...omitted].toSorted(), nullsOfResponses.toSorted())
}

function readEvents(text: string): readonly Document[] {
  return [...text.matchAll(/^data: (\{[^\n]*)$/gm)].map(([, json = '']) => JSON.parse(json) as Document)
}

/** The violations. */
function validate(interpreter: string, judged: readonly Judged[]): readonly string[] {
  const program = join(import.meta.dirname, '../../python/programs/validate_published.py')
  const { stdout, stderr, status } = spawnSync(interpreter, [program], {
    input: judged.map((each) => `${JSON.stringify(each)}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0 || !stderr.includes(`checked ${judged.length}\n`)) throw new Error(`the validation failed: ${stderr}`)
  return stdout.split('\n').filter((line) => line !== '')
}
