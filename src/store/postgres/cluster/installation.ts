/**
 * The secret of nodes that share a database: created by the first node and read by the others, or configured on each node and
 * verified by a proof in the database.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import { secretBytes } from '../../../system/secret.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { readCommitted } from '../connection/connections.ts'
import type { Connections } from '../connection/connections.ts'

export interface Installation {
  readonly secret: Buffer
  /** Whether this call created the installation. */
  readonly isNew: boolean
}

interface InstallationRow {
  readonly secret: Buffer | null
  readonly proof: Buffer
}

/**
 * Nodes that start at the same time get the same secret. A configured secret (SECRET_KEY) is not stored.
 * @param configuredSecret null: the database stores the secret
 * @param createSecret creates the secret of a new installation
 * @throws OperatorError
 */
export async function openInstallation(
  connections: Connections,
  configuredSecret: Buffer | null,
  createSecret: () => Buffer = () => randomBytes(secretBytes),
): Promise<Installation> {
  const existingInstallation = await findInstallation(connections)
  if (existingInstallation !== undefined) return { secret: checkSecret(existingInstallation, configuredSecret), isNew: false }
  const secret = configuredSecret ?? createSecret()
  const { rowCount } = await connections.write(
    readCommitted,
    'insert into installation (secret, secret_proof) values ($1, $2) on conflict do nothing',
    [configuredSecret === null ? secret : null, deriveProof(secret)],
  )
  // Another node may have been first.
  const storedInstallation = await findInstallation(connections)
  if (storedInstallation === undefined) throw new OperatorError('The database did not store the secret of this installation.')
  return { secret: checkSecret(storedInstallation, configuredSecret), isNew: rowCount === 1 }
}

async function findInstallation(connections: Connections): Promise<InstallationRow | undefined> {
  const { rows } = await connections.read('select secret, secret_proof as proof from installation', [])
  return (rows as readonly InstallationRow[])[0]
}

function checkSecret({ secret: storedSecret, proof }: InstallationRow, configuredSecret: Buffer | null): Buffer {
  const secret = configuredSecret ?? storedSecret
  if (secret === null)
    throw new OperatorError(
      'The secret of this installation is not stored in its database: set SECRET_KEY to the value that its other nodes use.',
    )
  if (deriveProof(secret).equals(proof)) return secret
  throw new OperatorError(
    configuredSecret === null
      ? 'The secret in the database is damaged. Restore the table installation from a backup.'
      : 'SECRET_KEY differs from the secret that this installation was created with: links, codes and emails of its other nodes would be invalid here. Set it to the value that they use, or not at all if the database stores the secret.',
  )
}

/** Verifies a secret without revealing it. */
function deriveProof(secret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'proof of the installation', 32))
}
