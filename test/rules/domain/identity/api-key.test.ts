import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { hashToken, looksLikeApiKey, mintApiKey } from '../../../../src/domain/identity/api-key.ts'

const prefix = 'svc_live_'

t.test('mints a key of prefix, 32 random characters and a valid checksum', async (t) => {
  const keys = Array.from({ length: 500 }, () => mintApiKey(prefix, randomBytes))
  for (const key of keys) {
    if (!/^svc_live_[0-9A-Za-z]{38}$/.test(key) || !looksLikeApiKey(key, prefix)) t.fail(key)
  }
  t.equal(new Set(keys).size, 500)
})

t.test('every character of a key is equally likely', async (t) => {
  const counts = new Map<string, number>()
  for (let index = 0; index < 2000; index++) {
    for (const letter of mintApiKey('', randomBytes).slice(0, 32)) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  }
  t.equal(counts.size, 62)
  // 64 000 characters: about 1032 of each; a difference of 250 is eight standard deviations.
  t.same(
    [...counts].filter(([, count]) => Math.abs(count - 1032) > 250),
    [],
  )
})

t.test('skips bytes that would favour the first characters', async (t) => {
  const bytes = [255, 248, 0, 61, 62]
  const key = mintApiKey('', (size) => Uint8Array.from({ length: size }, (_, index) => bytes[index % bytes.length] ?? 0))
  t.match(key.slice(0, 32), /^(0z0)+/)
})

t.test('detects one wrong, missing, added or swapped character without a look-up', async (t) => {
  const key = mintApiKey(prefix, randomBytes)
  for (let index = 0; index < key.length; index++) {
    const other = key[index] === 'a' ? 'b' : 'a'
    if (looksLikeApiKey(key.slice(0, index) + other + key.slice(index + 1), prefix)) t.fail(`another character at ${index}`)
    if (looksLikeApiKey(key.slice(0, index) + key.slice(index + 1), prefix)) t.fail(`none at ${index}`)
    const swapped = key.slice(0, index) + (key[index + 1] ?? '') + key[index] + key.slice(index + 2)
    if (swapped !== key && looksLikeApiKey(swapped, prefix)) t.fail(`swapped at ${index}`)
  }
  for (const token of [
    '',
    prefix,
    `${key}x`,
    ` ${key}`,
    key.toUpperCase(),
    `svc_test_${key.slice(9)}`,
    `${prefix}${'é'.repeat(38)}`,
    `${prefix}${'\0'.repeat(38)}`,
  ]) {
    t.notOk(looksLikeApiKey(token, prefix), JSON.stringify(token).slice(0, 20))
  }
  t.ok(looksLikeApiKey(key, prefix))
})

t.test('stores only the SHA-256 of a token', async (t) => {
  const key = mintApiKey(prefix, randomBytes)
  t.same(hashToken(key), createHash('sha256').update(key).digest())
  t.equal(hashToken(key).length, 32)
})
