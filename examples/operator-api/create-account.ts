/** Makes an account with a plan: `create-account.ts <address> <plan> [<end>]`. */
import { callOperatorApi } from './operator-client.ts'

const [email, plan, until] = process.argv.slice(2)
if (email === undefined || plan === undefined) throw new Error('usage: create-account.ts <address> <plan> [<end>]')
const response = await callOperatorApi('POST', 'members', {
  email,
  plan,
  ...(until === undefined ? {} : { until }),
  reason: 'signed up in our shop',
})
process.stdout.write(`${await response.text()}\n`)
