/** Creates many accounts with a key each directly in the database of a running gateway: over HTTP ten thousand would take minutes. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue } from 'node:sqlite'
import { hashToken, mintApiKey } from '../../../src/domain/identity/api-key.ts'

type Row = Record<string, SQLInputValue>

/**
 * Copies the first account and its key, with whatever columns this version has; returns the keys, the first one first. `firstKey` is
 * the key that the gateway printed.
 */
export function addAccounts(database: string, firstKey: string, count: number): readonly string[] {
  const db = new DatabaseSync(database, { timeout: 10_000 })
  try {
    const account = db.prepare('select * from account limit 1').get() as Row
    const key = db.prepare('select * from api_key limit 1').get() as Row
    const addAccount = createInsert(db, 'account', account)
    const addKey = createInsert(db, 'api_key', key)
    const prefix = firstKey.slice(0, firstKey.lastIndexOf('_') + 1)
    const tokens = [firstKey]
    db.exec('begin immediate')
    for (let nth = 1; nth < count; nth++) {
      const token = mintApiKey(prefix, randomBytes)
      const suffix = String(nth).padStart(6, '0')
      const id = `${String(account['id']).slice(0, -6)}${suffix}`
      const email = `bench-${nth}@example.org`
      addAccount({ ...account, id, email, mailbox: email })
      addKey({ ...key, id: `${String(key['id']).slice(0, -6)}${suffix}`, account: id, hash: hashToken(token) })
      tokens.push(token)
    }
    db.exec('commit')
    return tokens
  } finally {
    db.close()
  }
}

/** Keeps the columns that the table has and drops others. */
function createInsert(db: DatabaseSync, table: string, sample: Row): (row: Row) => void {
  const columns = Object.keys(sample)
  const insert = db.prepare(`insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`)
  return (row) => void insert.run(...columns.map((name) => row[name] ?? null))
}
