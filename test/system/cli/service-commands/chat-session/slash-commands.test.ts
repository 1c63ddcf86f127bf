/** The commands inside a conversation, its reasoning and its footer, in a real terminal. */
import t from 'tap'
import { parseSlashCommand } from '../../../../../src/cli/service-commands/chat-session/slash-commands.ts'
import { createStreamRoute, sendError, sendJson, startStubGateway, toChunkEvent } from '../../../../support/cli/stub-gateway.ts'
import type { ReceivedRequest } from '../../../../support/cli/stub-gateway.ts'
import { openTerminal } from '../../../../support/cli/terminal.ts'

const path = 'POST /v1/chat/completions'
const contents = (received: ReceivedRequest | undefined) =>
  ((received?.body['messages'] ?? []) as { role: string; content: string }[]).map(({ role, content }) => `${role}: ${content}`)

t.test('a slash and a word make a command; a path and a leading space do not', async (t) => {
  t.same(parseSlashCommand('/model svc-2.1 '), { name: 'model', argument: 'svc-2.1' })
  t.same(parseSlashCommand('/HELP'), { name: 'help', argument: '' })
  t.same(parseSlashCommand('/modle svc-2.1'), { name: 'modle', argument: 'svc-2.1' })
  for (const line of ['/etc/hosts is what?', ' /help', '//', '/ a', 'a /help', '/usr'.concat('/bin')])
    t.equal(parseSlashCommand(line), undefined, line)
})

t.test('changes model and instructions, repeats a question, saves the conversation, and sends no unknown command', async (t) => {
  const server = await startStubGateway({
    [path]: createStreamRoute('first answer'),
    'GET /v1/models': (_, response) =>
      sendJson(response, {
        data: [
          { id: 'svc-2.1', tier: 'flagship' },
          { id: 'svc-fast', tier: 'light' },
        ],
      }),
  })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
  if (terminal === undefined) return
  await terminal.typeLine('cd; svc chat -m svc-2.1')
  await terminal.waitFor(/> $/m)

  await terminal.typeLine('/modle svc-fast')
  await terminal.waitFor(/There is no \/modle; nothing was sent[^]*> $/m)
  await terminal.typeLine('/model svc-fsat')
  await terminal.waitFor(/There is no model svc-fsat\. There are: svc-2\.1, svc-fast\n> $/m)
  await terminal.typeLine('/model')
  await terminal.waitFor(/svc-fast +Fast\nNow: svc-2\.1\n> $/m)
  await terminal.typeLine('/model svc-fast')
  await terminal.waitFor(/The next answers come from svc-fast\.\n> $/m)
  await terminal.typeLine('/system Be brief')
  await terminal.waitFor(/Instructions: Be brief\n> $/m)
  t.notOk(
    server.requests.some(({ method }) => method === 'POST'),
    'no command is sent to a model',
  )

  await terminal.typeLine('one')
  await terminal.waitFor(/first answer\n> $/m)
  t.equal(server.requests.at(-1)?.body['model'], 'svc-fast')
  t.strictSame(contents(server.requests.at(-1)), ['system: Be brief', 'user: one'])

  server.routes[path] = createStreamRoute('better answer')
  await terminal.typeLine('/retry')
  await terminal.waitFor(/better answer\n> $/m)
  t.strictSame(contents(server.requests.at(-1)), ['system: Be brief', 'user: one'], 'the earlier answer is replaced')

  server.routes[path] = (received, response) => sendError(response, received, 'official_models_only')
  await terminal.typeLine('two')
  await terminal.waitFor(/choose another model: \/model\n[^]*> $/m)
  server.routes[path] = createStreamRoute('two is answered')
  await terminal.typeLine('/retry')
  await terminal.waitFor(/two is answered\n> $/m)

  await terminal.typeLine('/save talk.md')
  await terminal.waitFor(/Saved talk\.md\n> $/m)
  await terminal.typeLine('/save talk.md')
  await terminal.waitFor(/Cannot write talk\.md: it already exists\.\n> $/m)
  await terminal.typeLine('/exit')
  await terminal.waitFor(/\$ $/m)
  const { output } = await terminal.run('cat talk.md')
  t.equal(
    output.trim(),
    '# svc-fast\n\n## Instructions\n\nBe brief\n\n## Question\n\none\n\n## Answer\n\nbetter answer\n\n## Question\n\ntwo\n\n## Answer\n\ntwo is answered',
  )
})

t.test('shows reasoning, draws the growing answer once, and ends it with tokens, credits and balance', async (t) => {
  let finish = () => {}
  const delta = (fields: object) =>
    `data: ${JSON.stringify({ model: 'svc-2.1', choices: [{ index: 0, delta: fields, finish_reason: null }] })}\n\n`
  const server = await startStubGateway({
    [path]: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      response.write(delta({ reasoning_content: `Let me think. ${'Thinking goes on. '.repeat(12)}` }))
      response.write(toChunkEvent('A **growing** list:\n\n- one\n- tw'))
      finish = () => {
        response.write(toChunkEvent(`o\n\n| a | b |\n|--|--:|\n| x | 5 |\n\n${'words of a long line '.repeat(12)}`))
        const usage = { prompt_tokens: 12, completion_tokens: 640, total_tokens: 652 }
        const charge = { credits: 1200, tier: 'premium', left: { window: 'day', credits: 394_000 } }
        response.end(
          `${toChunkEvent('', 'stop')}data: ${JSON.stringify({ model: 'svc-2.1', choices: [], usage, charge })}\n\ndata: [DONE]\n\n`,
        )
      }
    },
  })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_TOKEN: 'svc_sess_x' })
  if (terminal === undefined) return

  await terminal.typeLine('clear; svc chat hi; echo end')
  await terminal.waitFor(/\(thought for 1 s\)\n\nA growing list:\n\n• one\n• tw\n/)
  finish()
  const shown = await terminal.waitFor(/^end$/m)
  t.match(shown, /\n\nA growing list:\n\n• one\n• two\n\na │ b\n──┼──\nx │ 5\n\nwords of a long line/)
  t.equal(shown.match(/growing list/g)?.length, 1, 'what was drawn while it grew is gone')
  t.match(shown, /svc-2\.1 · 12 tokens in, 640 out · 1200 credits · 394K Premium left today\nend/)
  t.notMatch(shown, /[a-z]{10,}/, 'no word runs into another')
  for (const line of shown.split('\n')) t.ok(line.length <= 102, line)
})
