/** The site in w3m and lynx, which run no scripts and show hidden forms. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requireProgram } from '../../../../support/require-program.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'

const gateway = await startGateway(t)
const home = createTemporaryFolder(t)
const form = join(home, 'form')
writeFileSync(form, 'email=mei%40example.com')

const browsers = [
  { name: 'w3m', words: ['-dump', '-cols', '80', '-O', 'UTF-8'], submit: ['-post', form], input: '' },
  {
    name: 'lynx',
    words: ['-dump', '-nolist', '-width=80', '-display_charset=utf-8'],
    submit: ['-post_data'],
    input: 'email=mei%40example.com\n---\n',
  },
] as const

for (const { name, words, submit, input } of browsers)
  t.test(`${name} reads plans and documentation, and sends no form that it cannot prove to be ours`, async (t) => {
    const program = requireProgram(t, name)
    if (program === undefined) return
    const dump = async (path: string, more: readonly string[] = [], typed = '') => {
      const env = { PATH: process.env['PATH'], HOME: home, LANG: 'C.UTF-8', TERM: 'dumb' }
      const running = promisify(execFile)(program, [...words, ...more, gateway.url + path], { env })
      running.child.stdin?.end(typed)
      // lynx exits with 1 for a page that is a refusal.
      const { stdout } = await running.catch((failure: { readonly stdout: string }) => failure)
      return stdout.replaceAll(/\s+/g, ' ')
    }
    const [plans, docs, errors, signIn, submitted] = await Promise.all([
      dump('/plans'),
      dump('/docs'),
      dump('/docs/errors'),
      dump('/sign-in'),
      dump('/sign-in', submit, input),
    ])
    t.match(plans, /Plans.*Free.*Max.*Messages included/)
    t.match(docs, /Quick start.*export SVC_API_KEY=/)
    t.match(errors, 'quota_exceeded')
    for (const page of [plans, docs, errors, signIn]) t.notMatch(page, 'needs JavaScript')
    t.match(signIn, /Email address.*Send me a code/)
    t.match(submitted, /This request came from a page that is not allowed\./)
  })
