/** What is taken for a mail address, and which addresses are one person's. */
import t from 'tap'
import { anyDomain, canonicalAddress, judgeAddress, personOf } from '../../src/membership/mail-address.ts'

const rules = {
  mergeAliases: true,
  blockedDomains: ['Rival.example'],
  isDisposable: (domain: string) => domain === 'mailinator.com',
}

t.test('addresses are lower-cased and composed; what is not plain is refused', async (t) => {
  for (const [text, address] of [
    ['Ann@Example.COM', 'ann@example.com'],
    ['  ann@example.com ', 'ann@example.com'],
    ['ann+tag@example.com', 'ann+tag@example.com'],
    ["o'neil@sub.example.co", "o'neil@sub.example.co"],
    ['owner@localhost', 'owner@localhost'],
    ['ａｎｎ@example.com', 'ann@example.com'],
  ] as const) {
    t.same(judgeAddress(text, rules), { kind: 'good', address }, text)
  }
  for (const text of [
    '',
    '@',
    'ann',
    'ann@',
    '@example.com',
    'ann@example',
    'ann@@example.com',
    'a@b@example.com',
    'ann@example..com',
    '.ann@example.com',
    'ann.@example.com',
    'an..n@example.com',
    'ann@-example.com',
    'ann@example.com-',
    'ann@127.0.0.1',
    'ann@[127.0.0.1]',
    'ann @example.com',
    'ann@exa mple.com',
    '"ann"@example.com',
    'ann@example.com\n',
    'ann\r\nbcc: x@example.com',
    'ann@еxample.com',
    'аnn@example.com',
    'ann＠example.com',
    `${'a'.repeat(65)}@example.com`,
    `ann@${'a.'.repeat(130)}com`,
    'x'.repeat(100_000),
  ]) {
    const verdict = judgeAddress(text, rules)
    t.equal(verdict.kind, text === 'ann@example.com\n' ? 'good' : 'malformed', JSON.stringify(text.slice(0, 40)))
  }
})

t.test('blocked domains are blocked with what is below them', async (t) => {
  for (const address of ['a@rival.example', 'a@mail.rival.example', 'a@mailinator.com', 'a@x.mailinator.com']) {
    t.equal(judgeAddress(address, rules).kind, 'blocked', address)
  }
  for (const address of ['a@notrival.example', 'a@mailinator.com.example.org']) {
    t.equal(judgeAddress(address, rules).kind, 'good', address)
  }
  t.equal(judgeAddress('a@mailinator.com', { ...rules, ...anyDomain }).kind, 'good')
})

t.test('aliases are one person, by setting', async (t) => {
  for (const [address, canonical] of [
    ['ann+x@example.com', 'ann@example.com'],
    ['a.nn@example.com', 'a.nn@example.com'],
    ['a.n.n+x+y@gmail.com', 'ann@gmail.com'],
    ['ann@googlemail.com', 'ann@gmail.com'],
  ] as const) {
    t.equal(canonicalAddress(address, true), canonical, address)
    t.equal(canonicalAddress(address, false), address)
  }
  const secret = Buffer.alloc(32, 1)
  t.same(personOf(secret, 'ann+x@example.com', true), personOf(secret, 'ann@example.com', true))
  t.notSame(personOf(secret, 'ann+x@example.com', false), personOf(secret, 'ann@example.com', false))
  t.notSame(personOf(secret, 'ann@example.com', true), personOf(Buffer.alloc(32, 2), 'ann@example.com', true), 'keyed')
})
