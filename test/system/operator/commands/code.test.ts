/** `svc-gateway code …`: codes are shown once, listed without themselves, and revoked. */
import { copyFileSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parseCode } from '../../../../src/domain/billing/redeem-code.ts'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'

async function createOperator(t: Test, change: object = {}) {
  const folder = createTemporaryFolder(t)
  copyFileSync(await getTemplateDatabase(), join(folder, 'gateway.db'))
  const run = createOperatorCli(t, folder, change)
  const show = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout)
  return { folder, run, show }
}

t.test('creates codes that are printed once and stored only as hashes', async (t) => {
  const { folder, run, show } = await createOperator(t)
  const created = await show('code', 'create', '--plan', 'pro', '--for', '30d', '--count', '3', '--batch', 'spring')
  t.match(created, {
    gift: { kind: 'plan', plan: 'pro', terms: 'pro@1', span: '30d' },
    uses: 1,
    expires_at: null,
    batch: 'spring',
  })
  const codes: string[] = created.data.map(({ code }: { code: string }) => code)
  t.equal(new Set(codes).size, 3)
  for (const code of codes) t.equal(parseCode(code).kind, 'code')
  const text = await run('code', 'create', '--credits', '500', '--pool', 'premium', '--uses', '5', '--expires', '2999-01-31')
  t.match(
    text.stdout,
    /^\w{5}-\w{5}-\w{5}-\w{5}\n\n1 code for 500 credits \(premium\) for 365d, 5 accounts each, to be redeemed before 31 Jan 2999/,
  )

  const files = readdirSync(folder).filter((name) => name.startsWith('gateway.db'))
  const stored = Buffer.concat(files.map((name) => readFileSync(join(folder, name)))).toString('latin1')
  for (const code of codes) t.notOk(stored.includes(code) || stored.includes(code.replaceAll('-', '')))

  const [first = ''] = codes
  const { data } = await show('code', 'list', '--batch', 'spring')
  t.equal(data.length, 3)
  t.match(data[0], { prefix: first.slice(0, 4), uses: 0, max_uses: 1, state: 'open' })
  t.notOk(JSON.stringify(data).includes(first))
  for (const name of [first, first.toLowerCase(), first.slice(0, 4), data[0].id])
    t.match(await show('code', 'show', name), { id: data[0].id, redemptions: [] }, name)
  t.match(await run('code', 'list'), { stdout: /spring +pro@1 for 30d +0 +1 +open/ })
})

t.test('prints CSV with links', async (t) => {
  const { run } = await createOperator(t, { listen: { host: '127.0.0.1', port: 0, siteUrl: 'https://example.com' } })
  const { code, stdout } = await run('code', 'create', '--plan', 'pro', '--for', '1mo', '--count', '2', '--csv')
  t.equal(code, 0)
  const [header, ...lines] = stdout.trimEnd().split('\n')
  t.equal(header, 'code,link,id,gives,uses,expires_at,batch')
  t.equal(lines.length, 2)
  for (const line of lines)
    t.match(line, /^(\w{5}-\w{5}-\w{5}-\w{5}),https:\/\/example\.com\/redeem\?code=\1,code_\w+,pro@1 for 1mo,1,,$/)
})

t.test('revokes by code, batch and prefix, and records it', async (t) => {
  const { run, show } = await createOperator(t)
  const create = (...words: string[]) => show('code', 'create', '--credits', '5', '--pool', 'fast', ...words)
  const [single] = (await create()).data
  await create('--count', '4', '--batch', 'spring')
  t.match(await run('code', 'revoke', single.code), { code: 0, stdout: /^1 code revoked\. What was redeemed stays/ })
  t.match(await run('code', 'revoke', '--batch', 'spring'), { code: 0, stdout: /^4 codes revoked/ })
  t.match(await run('code', 'revoke', '--batch', 'spring'), { code: 0, stdout: /^0 codes revoked/ })
  const [other] = (await create()).data
  t.match(await run('code', 'revoke', '--prefix', other.code.slice(0, 4)), { code: 0, stdout: /^1 code revoked/ })
  t.match(await run('code', 'list'), { stdout: /revoked/ })
  const { data } = await show('audit', '--event', 'codes_revoked')
  t.match(data[1], { detail: { by: 'operator', revoked: 0, batch: 'spring' } })
  t.match(await run('code', 'revoke'), { code: 1, stderr: /^Name one code, or --batch, or --prefix/ })
})

t.test('refuses what makes no sense, in one sentence', async (t) => {
  const { run } = await createOperator(t)
  for (const [words, sentence] of [
    [[], /^Name either --plan with --for, or --credits/],
    [['--plan', 'pro', '--credits', '5'], /^Name either --plan/],
    [['--plan', 'none', '--for', '1d'], /^There is no plan 'none'/],
    [['--plan', 'free', '--for', '1d'], /^Plan free is the default plan/],
    [['--plan', 'pro'], /^--for must be a span such as 30d/],
    [['--plan', 'pro', '--for', '5ms'], /^--for must be a span/],
    [['--plan', 'pro', '--for', '1d', '--days', '5'], /^--pool and --days belong to --credits/],
    [['--credits', '5', '--for', '1d'], /^--for belongs to --plan/],
    [['--credits', '5'], /^--pool must be fast or premium/],
    [['--credits', '0', '--pool', 'fast'], /^--credits must be a whole number/],
    [['--credits', '5', '--pool', 'fast', '--days', '36501'], /^--days must be at most/],
    [['--credits', '5', '--pool', 'fast', '--count', '100001'], /^--count must be at most/],
    [['--credits', '5', '--pool', 'fast', '--uses', '0'], /^--uses must be/],
    [['--credits', '5', '--pool', 'fast', '--expires', '2001-01-01'], /^--expires lies in the past/],
    [['--credits', '5', '--pool', 'fast', '--batch', 'a b'], /^--batch must have/],
  ] as const) {
    const { code, stderr } = await run('code', 'create', ...words)
    t.equal(code, 1)
    t.match(stderr, sentence)
  }
  t.match(await run('code', 'show', 'ABCD'), { code: 1, stderr: /^There is no code 'ABCD'/ })
  t.match(await run('code', 'show', 'ABC'), { code: 1, stderr: /^A code is named by its id, by its first 4 characters/ })
  t.match(await run('code', 'show', 'AAAAA-AAAAA-AAAAA-AAAAB'), { code: 1, stderr: /^This code has a typing error/ })
  t.match(await run('code', 'show', '00000-00000-00000-00000'), { code: 1, stderr: /^There is no such code/ })
})
