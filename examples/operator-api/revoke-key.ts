/** Ends an API key by its first characters: `revoke-key.ts <first characters> <reason>`. */
import { callOperatorApi } from './operator-client.ts'

interface List {
  readonly data: readonly { readonly id: string; readonly prefix: string; readonly revoked_at: string | null }[]
}

const [prefix, reason] = process.argv.slice(2)
if (prefix === undefined || reason === undefined) throw new Error('usage: revoke-key.ts <first characters> <reason>')
const read = async (path: string): Promise<List> => (await (await callOperatorApi('GET', path)).json()) as List
const matches: { readonly member: string; readonly key: string }[] = []
for (const { id: member } of (await read(`members?q=${encodeURIComponent(prefix)}`)).data)
  for (const key of (await read(`members/${member}/keys`)).data)
    if (key.revoked_at === null && prefix.startsWith(key.prefix)) matches.push({ member, key: key.id })
const [match] = matches
if (match === undefined || matches.length > 1) throw new Error(`${matches.length} live keys begin so; name one.`)
await callOperatorApi('POST', `members/${match.member}/keys/${match.key}/revoke`, { reason })
process.stdout.write(`${match.key} is revoked.\n`)
