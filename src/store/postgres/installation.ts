/** The secret of nodes that share a database: made by the first of them, read by the others; or given to each, and known by its proof alone. */
import { hkdfSync, randomBytes } from 'node:crypto'
import { secretBytes } from '../../system/secret.ts'
import { Unusable } from '../../system/unusable.ts'
import { alone } from './connections.ts'
import type { Connections } from './connections.ts'

export interface Installation {
  readonly secret: Buffer
  /** Nobody had begun it before. */
  readonly isNew: boolean
}

interface Row {
  readonly secret: Buffer | null
  readonly proof: Buffer
}

/**
 * Nodes that start at once end with the same secret. One that was given, as SECRET_KEY, is not written down.
 * @param given null: the database keeps it
 * @param begin makes the secret that a new installation begins with
 * @throws Unusable
 */
export async function openInstallation(
  connections: Connections,
  given: Buffer | null,
  begin: () => Buffer = () => randomBytes(secretBytes),
): Promise<Installation> {
  const known = await find(connections)
  if (known !== undefined) return { secret: agreed(known, given), isNew: false }
  const first = given ?? begin()
  const { rowCount } = await connections.write(
    alone,
    'insert into installation (secret, proof) values ($1, $2) on conflict do nothing',
    [given === null ? first : null, proofOf(first)],
  )
  // Another may have been first.
  const begun = await find(connections)
  if (begun === undefined) throw new Unusable('The database does not keep the secret of this installation.')
  return { secret: agreed(begun, given), isNew: rowCount === 1 }
}

async function find(connections: Connections): Promise<Row | undefined> {
  const { rows } = await connections.read('select secret, proof from installation', [])
  return (rows as readonly Row[])[0]
}

function agreed({ secret: kept, proof }: Row, given: Buffer | null): Buffer {
  const secret = given ?? kept
  if (secret === null)
    throw new Unusable('The secret of this installation is not kept in its database: set SECRET_KEY as its other nodes have it.')
  if (proofOf(secret).equals(proof)) return secret
  throw new Unusable(
    given === null
      ? 'The secret in the database is damaged. Restore the table installation from a backup.'
      : 'SECRET_KEY is another secret than the one that this database was begun with: links, codes and letters of its other nodes would be void here. Set it as they have it, or not at all where it is kept in the database.',
  )
}

/** Tells whether a secret is the right one, and nothing else of it. */
function proofOf(secret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'proof of the installation', 32))
}
