/** Accepted email addresses, and which of them belong to one person. */
import t from 'tap'
import {
  anyEmailDomain,
  canonicalizeEmail,
  isEmailDomain,
  parseEmail,
  hashPerson,
} from '../../../../../src/domain/identity/email/email-address.ts'

const rules = {
  blockedDomains: ['Rival.example'],
  isDisposable: (domain: string) => domain === 'mailinator.com',
}

t.test('lower-cases and composes addresses, writes their domains in ASCII, and refuses other letters before the @', async (t) => {
  for (const [text, address] of [
    ['Ann@Example.COM', 'ann@example.com'],
    ['  ann@example.com ', 'ann@example.com'],
    ['ann+tag@example.com', 'ann+tag@example.com'],
    ["o'neil@sub.example.co", "o'neil@sub.example.co"],
    ['owner@localhost', 'owner@localhost'],
    ['ａｎｎ@example.com', 'ann@example.com'],
    ['mei@Bücher.example', 'mei@xn--bcher-kva.example'],
    ['mei@xn--bcher-kva.example', 'mei@xn--bcher-kva.example'],
    ['mei@例子。测试', 'mei@xn--fsqu00a.xn--0zwm56d'],
    // A look-alike is another domain, and is shown as one.
    ['ann@еxample.com', 'ann@xn--xample-2of.com'],
  ] as const) {
    t.same(parseEmail(text, rules), { kind: 'good', email: address }, text)
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
    'аnn@example.com',
    'ann＠example.com',
    'ann@bü%63her.example',
    'ann@bücher.example/x',
    'ann@bücher.example:80',
    'ann@bü cher.example',
    'ann@bücher',
    `ann@${'ü'.repeat(60)}.example`,
    `${'a'.repeat(65)}@example.com`,
    `ann@${'a.'.repeat(130)}com`,
    'x'.repeat(100_000),
  ]) {
    const verdict = parseEmail(text, rules)
    t.equal(verdict.kind, text === 'ann@example.com\n' ? 'good' : 'malformed', JSON.stringify(text.slice(0, 40)))
  }
})

t.test('blocks a domain with its subdomains', async (t) => {
  for (const address of ['a@rival.example', 'a@mail.rival.example', 'a@mailinator.com', 'a@x.mailinator.com']) {
    t.equal(parseEmail(address, rules).kind, 'blocked', address)
  }
  const german = { ...rules, blockedDomains: ['Bücher.example'] }
  t.equal(parseEmail('a@shop.bücher.example', german).kind, 'blocked')
  t.equal(parseEmail('a@xn--bcher-kva.example', german).kind, 'blocked')
  t.ok(isEmailDomain('Bücher.example'))
  t.notOk(isEmailDomain('bü/cher.example'))
  for (const address of ['a@notrival.example', 'a@mailinator.com.example.org']) {
    t.equal(parseEmail(address, rules).kind, 'good', address)
  }
  t.equal(parseEmail('a@mailinator.com', { ...rules, ...anyEmailDomain }).kind, 'good')
})

t.test('treats aliases as one person if configured', async (t) => {
  for (const [address, canonical] of [
    ['ann+x@example.com', 'ann@example.com'],
    ['a.nn@example.com', 'a.nn@example.com'],
    ['a.n.n+x+y@gmail.com', 'ann@gmail.com'],
    ['ann@googlemail.com', 'ann@gmail.com'],
  ] as const) {
    t.equal(canonicalizeEmail(address, true), canonical, address)
    t.equal(canonicalizeEmail(address, false), address)
  }
  const secret = Buffer.alloc(32, 1)
  t.same(hashPerson(secret, 'ann+x@example.com', true), hashPerson(secret, 'ann@example.com', true))
  t.notSame(hashPerson(secret, 'ann+x@example.com', false), hashPerson(secret, 'ann@example.com', false))
  t.notSame(hashPerson(secret, 'ann@example.com', true), hashPerson(Buffer.alloc(32, 2), 'ann@example.com', true), 'keyed')
})
