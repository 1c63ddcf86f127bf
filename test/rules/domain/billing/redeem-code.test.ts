/** The form of codes: what can be read aloud, mistyped and guessed. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { formatCode, hashCode, mintCode, parseCode } from '../../../../src/domain/billing/redeem-code.ts'

const mint = () => mintCode((size) => randomBytes(size))

t.test('a code has twenty unambiguous characters, and is read in any case, spacing and look-alike letters', async (t) => {
  const code = mint()
  t.match(code, /^[0-9A-HJKMNP-TV-Z]{20}$/)
  const printed = formatCode(code)
  t.match(printed, /^\w{5}-\w{5}-\w{5}-\w{5}$/)
  const good = { kind: 'code', code }
  const typed = printed.replaceAll('0', 'o').replaceAll('1', 'l')
  for (const text of [
    code,
    printed,
    printed.toLowerCase(),
    ` ${printed} `,
    printed.replaceAll('-', ' '),
    printed.replaceAll('-', '–'),
    typed,
  ])
    t.same(parseCode(text), good, text)
  t.equal(new Set(Array.from({ length: 1_000 }, mint)).size, 1_000)
  t.equal(hashCode(code).length, 32)
})

t.test('another length or another character is no code', async (t) => {
  const code = mint()
  for (const text of ['', 'x', code.slice(1), `${code}0`, code.replace(/./, 'U'), code.replace(/./, '*'), 'a'.repeat(100_000)])
    t.same(parseCode(text), { kind: 'malformed' })
})

t.test('every single wrong character and every exchange of two characters is a typing error', async (t) => {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  for (let round = 0; round < 20; round += 1) {
    const code = mint()
    for (let place = 0; place < code.length; place += 1) {
      for (const other of alphabet) {
        if (other === code[place]) continue
        const wrong = code.slice(0, place) + other + code.slice(place + 1)
        if (parseCode(wrong).kind !== 'mistyped') t.fail(`${wrong} for ${code}`)
      }
      for (let second = place + 1; second < code.length; second += 1) {
        if (code[place] === code[second]) continue
        const exchanged = [...code]
        exchanged[place] = code[second] ?? ''
        exchanged[second] = code[place] ?? ''
        if (parseCode(exchanged.join('')).kind !== 'mistyped') t.fail(`${exchanged.join('')} for ${code}`)
      }
    }
  }
})
