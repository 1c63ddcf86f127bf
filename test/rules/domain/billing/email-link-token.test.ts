import t from 'tap'
import { createUnsubscribeToken, parseUnsubscribeToken } from '../../../../src/domain/billing/email-link-token.ts'

const secret = Buffer.alloc(32, 7)
const token = createUnsubscribeToken(secret, 'acc_1')

t.test('names the account of its own token', async (t) => {
  t.equal(parseUnsubscribeToken(secret, token), 'acc_1')
})

t.test('refuses any other text', async (t) => {
  const last = token.at(-1) ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  // Three of these stand for the same bytes.
  for (const other of alphabet.replace(last, ''))
    t.equal(parseUnsubscribeToken(secret, token.slice(0, -1) + other), undefined, other)
  for (const other of ['', 'acc_1', 'acc_1.', token.replace('acc_1', 'acc_2'), `${token}=`, ` ${token}`, token.slice(0, -1)])
    t.equal(parseUnsubscribeToken(secret, other), undefined, other)
  t.equal(parseUnsubscribeToken(Buffer.alloc(32, 8), token), undefined, 'another installation')
})
