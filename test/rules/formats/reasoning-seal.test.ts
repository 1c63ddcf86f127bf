/** Sealed reasoning: for the same installation and account alone. */
import t from 'tap'
import { deriveSealKey, ReasoningSeal } from '../../../src/formats/reasoning-seal.ts'

const key = deriveSealKey(Buffer.alloc(32, 1))
const text = '先想一想: "why"?\nBecause.'

t.test('opens what it has sealed', async (t) => {
  const seal = new ReasoningSeal(key, 'acc_1')
  const container = seal.seal(text)
  t.equal(seal.unseal(container), text)
  t.notMatch(Buffer.from(container.slice(4), 'base64url').toString(), /Because/)
  t.not(seal.seal(text), container, 'equal texts cannot be recognised')
  t.equal(seal.unseal(seal.seal('')), '')
})

t.test('opens nothing else', async (t) => {
  const seal = new ReasoningSeal(key, 'acc_1')
  const container = seal.seal(text)
  const bytes = Buffer.from(container.slice(4), 'base64url')
  const flip = (at: number) => {
    const copy = Buffer.from(bytes)
    copy[at] = copy.readUInt8(at) ^ 1
    return `rs1.${copy.toString('base64url')}`
  }
  for (const [name, other] of Object.entries({
    'a changed nonce': flip(0),
    'a changed text': flip(14),
    'a changed tag': flip(bytes.length - 1),
    'a shortened container': container.slice(0, -8),
    'another version': container.replace('rs1.', 'rs2.'),
    'an empty string': '',
    'the prefix alone': 'rs1.',
    'foreign text': 'gAAAAABm',
  }))
    t.equal(seal.unseal(other), null, name)
  t.equal(new ReasoningSeal(key, 'acc_2').unseal(container), null, 'another account')
  t.equal(new ReasoningSeal(deriveSealKey(Buffer.alloc(32, 2)), 'acc_1').unseal(container), null, 'another installation')
})

t.test('seals and opens up to a megabyte', async (t) => {
  const seal = new ReasoningSeal(key, 'acc_1')
  const longest = 'x'.repeat(1024 * 1024)
  t.equal(seal.unseal(seal.seal(longest)), longest)
  t.equal(seal.seal(`${longest}x`), '', 'a longer text is not sealed')
  t.equal(seal.unseal(`${seal.seal(longest)}AAAA`), null, 'a longer container is not read')
})
