/**
 * The cases of the Open Responses compliance suite against a gateway with a scripted model, and its schemas: every answer and every event
 * is validated with the models that are generated from the specification.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { startScriptedModel } from '../support/scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-model.ts'
import { openSpecifications } from './specifications.ts'

const png = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place.',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}
const message = (role: string, content: unknown) => ({ type: 'message', role, content })

const cases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a text': { input: [message('user', 'Say hello.')] },
  'a plain string': { input: 'Say hello.' },
  'a system prompt': { input: [message('system', 'You are a pirate.'), message('user', 'Say hello.')] },
  'a tool call': { input: [message('user', 'How is the weather in Paris?')], tools: [weather] },
  'an image': {
    input: [
      message('user', [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: png },
      ]),
    ],
  },
  'several turns': {
    input: [message('user', 'My name is Alice.'), message('assistant', 'Hello Alice!'), message('user', 'What is my name?')],
  },
  'every field': {
    input: [message('user', 'Say hello.')],
    instructions: 'Be short.',
    temperature: 0.5,
    top_p: 0.9,
    max_output_tokens: 100,
    metadata: { a: 'b' },
    tools: [weather],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    reasoning: { effort: 'low' },
    // Of a format with a schema the specification requires that the schema is null, and OpenAI's that it is an object.
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    prompt_cache_key: 'k',
    safety_identifier: 's',
    store: true,
    truncation: 'auto',
  },
  'an answer that is cut': { input: 'Say much.' },
}

function answer({ messages, tools = [] }: ReceivedRequest): ScriptedAnswer {
  const text = JSON.stringify(messages.at(-1)?.content)
  if (text.includes('much')) return { text: 'Much and', finish: 'length' }
  if (tools.length > 0 && text.includes('weather'))
    return {
      reasoning: 'A tool.',
      text: 'One moment.',
      calls: [{ id: 'call_a', name: 'get_weather', arguments: '{"location":"Paris"}' }],
    }
  return { reasoning: 'Hm.', text: 'Hello.' }
}

t.test('answers and events follow the Open Responses specification', async (t) => {
  const interpreter = await openSpecifications(t)
  if (interpreter === undefined) return
  const model = await startScriptedModel(t, answer)
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } } })
  const { token } = await gateway.createMember()
  const documents: unknown[] = []
  for (const [name, body] of Object.entries(cases))
    for (const stream of [false, true]) {
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'svc-2.1', stream, ...body }),
      })
      t.equal(response.status, 200, name)
      const text = await response.text()
      const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Record<string, unknown>)
      documents.push(...(stream ? events : [JSON.parse(text) as unknown]))
      const final = (stream ? events.at(-1)?.['response'] : JSON.parse(text)) as { status: string; output: { type: string }[] }
      t.equal(final.status, name === 'an answer that is cut' ? 'incomplete' : 'completed', name)
      if (name === 'a tool call')
        t.same(
          final.output.map(({ type }) => type),
          ['reasoning', 'message', 'function_call'],
        )
    }
  t.same(validate(interpreter, documents), [])
  const wrong = [{ type: 'response.output_text.delta', sequence_number: 0, delta: 'x' }, { id: 'resp_1' }]
  t.equal(validate(interpreter, wrong).length, 2, 'the validation finds what is missing')
})

/** The violations. */
function validate(interpreter: string, documents: readonly unknown[]): readonly string[] {
  const { stdout, stderr, status } = spawnSync(
    interpreter,
    [join(import.meta.dirname, '../../python/programs/validate_open_responses.py')],
    {
      input: documents.map((document) => `${JSON.stringify(document)}\n`).join(''),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  if (status !== 0 || !stderr.includes(`checked ${documents.length}\n`)) throw new Error(`the validation failed: ${stderr}`)
  return stdout.split('\n').filter((line) => line !== '')
}
