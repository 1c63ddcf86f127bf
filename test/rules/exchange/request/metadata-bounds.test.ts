/** Labels of a request have OpenAI's bounds, and a user id of the Messages API has its own. */
import t from 'tap'
import { GatewayError } from '../../../../src/errors.ts'
import { parseChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { translate as translateMessages } from '../../../support/formats/messages/translate.ts'
import { translate as translateResponses } from '../../formats/responses/translate.ts'

/** Path and sentence of the refusal; null if the request is accepted. */
function findRefusal(work: () => unknown): { readonly param: string | undefined; readonly message: string } | null {
  try {
    work()
    return null
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_request') throw error
    return { param: error.details.param, message: error.message }
  }
}

const chat = (metadata: unknown) =>
  parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'x' }], metadata })))

const pairs = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${i}`, 'x']))
const fits = { ...pairs(15), ['k'.repeat(64)]: 'v'.repeat(512) }

t.test('chat completions and the Responses API accept what OpenAI accepts', async (t) => {
  for (const send of [chat, (metadata: unknown) => translateResponses({ metadata })]) {
    for (const metadata of [undefined, null, {}, { a: '' }, fits])
      t.equal(
        findRefusal(() => send(metadata)),
        null,
      )
    for (const [metadata, param, message] of [
      [pairs(17), 'metadata', /more than 16 pairs/],
      [{ ['k'.repeat(65)]: 'x' }, 'metadata', /name longer than 64/],
      [{ a: 'v'.repeat(513) }, 'metadata.a', /longer than 512/],
      [{ a: { b: 'c' } }, 'metadata.a', /must be a string/],
      [{ a: 1 }, 'metadata.a', /must be a string/],
      [['a'], 'metadata', /must be an object/],
      ['a', 'metadata', /must be an object/],
      [{ a: 'x'.repeat(12 * 2 ** 20) }, 'metadata.a', /longer than 512/],
    ] as const)
      t.match(
        findRefusal(() => send(metadata)),
        { param, message },
      )
  }
})

t.test('the Messages API accepts the user ids of its clients', async (t) => {
  const send = (metadata: unknown) => translateMessages({ metadata })
  // The longest that Claude Code sends.
  const uuid = '00000000-0000-0000-0000-000000000000'
  const userId = JSON.stringify({ device_id: 'f'.repeat(64), account_uuid: uuid, session_id: uuid })
  for (const metadata of [undefined, null, {}, { user_id: null }, { user_id: userId }, { user_id: 'u'.repeat(1_024) }])
    t.equal(
      findRefusal(() => send(metadata)),
      null,
    )
  for (const [metadata, param, message] of [
    [{ user_id: 'u'.repeat(1_025) }, 'metadata.user_id', /longer than 1024/],
    [{ user_id: {} }, 'metadata.user_id', /must be a string/],
    [{ user_id: 'u', other: {} }, 'metadata.other', /must be a string/],
    [{ user_id: 'u', ...pairs(17) }, 'metadata', /more than 16 pairs/],
    [7, 'metadata', /must be an object/],
  ] as const)
    t.match(
      findRefusal(() => send(metadata)),
      { param, message },
    )
})
