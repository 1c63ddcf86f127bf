/** The operator's lists on terminals of usual widths. */
import t from 'tap'
import { createOperatorCli } from '../../support/gateway/operator-cli.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../support/gateway/website-client.ts'

t.test(
  'turns, audit, accounts and keys fit 60 to 120 columns, name members by address, and show one format of times',
  async (t) => {
    const gateway = await startGateway(t)
    const browser = new WebsiteClient(gateway)
    await browser.signIn('a-member@example.com')
    const made = await browser.post('auth/api-keys', { name: 'the key of my laptop' })
    t.equal(made.status, 201)
    const { token } = made.body as { token: string }
    for (let count = 0; count < 3; count++) await (await gateway.chat(token)).text()
    const operate = createOperatorCli(t, gateway.services.config.store.dataDir)
    const account = 'a-member@example.com'
    const { isTTY, columns: before } = process.stdout
    t.teardown(() => Object.assign(process.stdout, { isTTY, columns: before }))
    for (const columns of [60, 80, 100, 120]) {
      Object.assign(process.stdout, { isTTY: true, columns })
      for (const words of [
        ['turns'],
        ['audit'],
        ['account', 'list'],
        ['account', 'show', account],
        ['key', 'list', '--account', account],
        ['rush', 'list'],
      ]) {
        const { code, stdout } = await operate(...words)
        t.equal(code, 0)
        for (const line of stdout.split('\n')) t.ok(line.length <= columns, `${words.join(' ')} at ${columns}: ${line}`)
        t.notMatch(stdout, /\d{4}-\d\d-\d\dT/, 'no time in the format of documents')
      }
    }
    Object.assign(process.stdout, { isTTY: true, columns: 100 })
    t.match(
      (await operate('turns')).stdout,
      /^started \(UTC.*\) +request id +account[^]*\d+ \w{3} \d\d:\d\d +…\w{8} +a-member@example\.com/,
    )
    Object.assign(process.stdout, { columns: 160 })
    t.match(
      (await operate('audit', '--event', 'key_made')).stdout,
      /a-member@example\.com +key_made .*key: key_\w+, prefix: svc_live_/,
    )
  },
)

t.test('the help of every command fits, and lists each command in a section', async (t) => {
  const operate = createOperatorCli(t, t.testdir())
  const { isTTY, columns: before } = process.stdout
  t.teardown(() => Object.assign(process.stdout, { isTTY, columns: before }))
  // The examples are whole command lines, which a shell takes as they are.
  const withoutExamples = (help: string) => help.replaceAll(/^ {2}(?:\S.*\b)?svc-gateway\b.*$/gm, '')
  const listCommands = (help: string) =>
    [...withoutExamples(help).matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name = '']) => name)
  for (const columns of [60, 80, 100, 120]) {
    Object.assign(process.stdout, { isTTY: true, columns })
    const show = async (...words: string[]) => {
      const { code, stdout } = await operate(...words, '--help')
      t.equal(code, 0, words.join(' '))
      for (const line of withoutExamples(stdout).split('\n'))
        t.ok(line.length <= columns, `${words.join(' ')} at ${columns}: ${line}`)
      return stdout
    }
    const help = await show()
    t.same(help.match(/^[A-Z]\w+:(?=\n)/gm), ['Examples:', 'Server:', 'Members:', 'Sales:', 'Records:', 'Data:', 'Options:'])
    for (const name of listCommands(help)) {
      const inner = await show(name)
      for (const word of listCommands(inner)) await show(name, word)
    }
  }
})
