/** `svc chat` as a conversation in a real terminal. */
import t from 'tap'
import { toChunkEvent, sendError, startStubGateway, createStreamRoute } from '../../../../support/cli/stub-gateway.ts'
import type { ReceivedRequest } from '../../../../support/cli/stub-gateway.ts'
import { openTerminal } from '../../../../support/cli/terminal.ts'

const path = 'POST /v1/chat/completions'
const contents = (received: ReceivedRequest | undefined) =>
  ((received?.body['messages'] ?? []) as { role: string; content: string }[]).map(({ role, content }) => `${role}: ${content}`)

t.test(
  'a conversation keeps its turns, recalls earlier lines, stops an answer on Ctrl-C, and continues after a failure',
  async (t) => {
    const server = await startStubGateway({ [path]: createStreamRoute('# First', '\nanswer') })
    t.teardown(() => server.close())
    const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
    if (terminal === undefined) return

    await terminal.typeLine('svc chat -m svc-2.1')
    await terminal.waitFor(/> $/m)
    await terminal.typeLine('one')
    await terminal.waitFor(/First\n\nanswer\n> $/m)
    t.match(await terminal.readStyledScreen(), /\[1;?.*First/, 'Markdown is rendered')
    t.strictSame(contents(server.requests.at(-1)), ['user: one'])

    server.routes[path] = createStreamRoute('second')
    await terminal.typeLine('two')
    await terminal.waitFor(/second\n> $/m)
    t.strictSame(
      contents(server.requests.at(-1)),
      ['user: one', 'assistant: # First\nanswer', 'user: two'],
      'the model sees the earlier turns',
    )

    await terminal.pressKeys('Up', 'Up', 'Enter')
    await terminal.waitFor(/> one\nsecond\n> $/m)
    t.equal(contents(server.requests.at(-1)).at(-1), 'user: one', 'the arrow keys bring back what was typed')

    const closed = new Promise<void>((resolve) => {
      server.routes[path] = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(toChunkEvent('thinking\n'))
        response.on('close', resolve)
      }
    })
    await terminal.typeLine('slow')
    await terminal.waitFor(/thinking/)
    await terminal.pressKeys('C-c')
    await closed
    await terminal.waitFor(/\(stopped; this part stays in the conversation\)\n> $/m)

    server.routes[path] = (received, response) => sendError(response, received, 'upstream_error', 500)
    await terminal.typeLine('broken')
    await terminal.waitFor(/Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502 · up=500\n> $/m)
    t.match(await terminal.readScreen(), /repeat the question: \/retry\n/)

    server.routes[path] = createStreamRoute('back')
    await terminal.typeLine('again')
    await terminal.waitFor(/back\n> $/m)
    t.strictSame(
      contents(server.requests.at(-1)).slice(-3),
      ['user: slow', 'assistant: thinking\n', 'user: again'],
      'the model sees the part of a stopped answer, and no failed turn',
    )

    const stalled = new Promise<void>((resolve) => {
      server.routes[path] = (_, response) => void response.on('close', resolve)
    })
    await terminal.typeLine('silent')
    await terminal.waitFor(/Waiting for svc-2\.1/)
    await terminal.pressKeys('C-c')
    await stalled
    await terminal.waitFor(/\(stopped\)\n> $/m)
    server.routes[path] = createStreamRoute('back')

    const sent = server.requests.length
    await terminal.typeLine('/help')
    await terminal.waitFor(/\/clear +forgets the conversation[^]*begin it with a space\.\n> $/m)
    await terminal.typeLine('/hlep')
    await terminal.waitFor(/There is no \/hlep; nothing was sent[^]*> $/m)
    t.equal(server.requests.length, sent, 'a word meant for the dialogue is no turn')
    await terminal.typeLine(' /hlep')
    await terminal.waitFor(/back\n> $/m)
    t.equal(contents(server.requests.at(-1)).at(-1), 'user: /hlep', 'unless it is meant')

    const found = {
      schema: 'svc.search.v1',
      answer: 'It is **out** [1].',
      results: [{ index: 1, title: 'News', url: 'https://e.example/n' }],
    }
    server.routes[path] = createStreamRoute(JSON.stringify(found))
    await terminal.typeLine('search it')
    await terminal.waitFor(/\[1\] News\n +https:\/\/e\.example\/n\n> $/m)
    server.routes[path] = createStreamRoute('back')
    await terminal.typeLine('more')
    await terminal.waitFor(/back\n> $/m)
    t.match(
      contents(server.requests.at(-1)).at(-2),
      /^assistant: It is \*\*out\*\* \[1\]\.\n/,
      'the model receives it as it was shown',
    )

    await terminal.typeLine('/clear')
    await terminal.waitFor(/A new conversation\.\n> $/m)
    await terminal.typeLine('/save')
    await terminal.waitFor(/There is nothing to save yet\.\n> $/m)
    await terminal.typeLine('fresh')
    await terminal.waitFor(/fresh\nback\n> $/m)
    t.strictSame(contents(server.requests.at(-1)), ['user: fresh'])

    // Sent at once, like a paste.
    await terminal.pressKeys('a poem', 'Enter', 'of three', 'Enter', 'lines', 'Enter')
    await terminal.waitFor(/lines\nback\n> $/m)
    t.strictSame(contents(server.requests.at(-1)).at(-1), 'user: a poem\nof three\nlines')

    await terminal.pressKeys('C-d')
    await terminal.waitFor(/\$ $/m)
    await terminal.typeLine('echo "exit=$?"')
    await terminal.waitFor(/exit=0/)
  },
)

t.test('one question on a terminal shows progress after a second, and Ctrl-C ends it with 130', async (t) => {
  let answer = () => {}
  const server = await startStubGateway({
    [path]: (_, response) => {
      answer = () => createStreamRoute('done waiting')({} as ReceivedRequest, response, {} as never)
    },
  })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
  if (terminal === undefined) return

  await terminal.typeLine('svc chat "hi"')
  await terminal.waitFor(/Waiting for auto …/)
  answer()
  t.notMatch(await terminal.waitFor(/done waiting/), /Waiting for auto/, 'the line is gone when the answer comes')

  await terminal.typeLine('clear; svc chat "hi"; echo "exit=$?"')
  await terminal.waitFor(/Waiting for auto …/)
  await terminal.pressKeys('C-c')
  await terminal.waitFor(/Interrupted\.\nexit=130/)
})

t.test('NO_COLOR and TERM=dumb print Markdown unchanged', async (t) => {
  const server = await startStubGateway({ [path]: createStreamRoute('# Title') })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
  if (terminal === undefined) return
  for (const setting of ['NO_COLOR=1', 'TERM=dumb']) {
    await terminal.typeLine(`clear; ${setting} svc chat hi; echo end`)
    t.match(await terminal.waitFor(/^end$/m), /^# Title$/m, setting)
  }
})
