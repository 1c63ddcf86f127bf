/** A real PgBouncer with a shipped file. TEST_PGBOUNCER names another program than the installed one. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { getPostgresUser, chownToPostgres } from '../servers/postgres/postgres-server.ts'
import { requireProgram } from '../require-program.ts'
import type { TestScope } from '../test-scope.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import { startProxyProcess } from './proxy-process.ts'
import { readShippedFile } from './shipped-file.ts'

export interface PgBouncer {
  /** The database of `storeUrl`, through the pooler. */
  readonly storeUrl: string
  readonly log: () => string
}

export interface PgBouncerOptions {
  readonly file: 'pgbouncer/transaction-mode.ini' | 'pgbouncer/session-mode.ini'
  readonly storeUrl: string
  /** Changes the file as a careless operator would. */
  readonly edit?: (text: string) => string
}

/** Undefined where PgBouncer is not installed: the test has then reported it. Rejects with its log where it refuses the file. */
export async function startPgBouncer(
  t: TestScope,
  { file, storeUrl, edit = (text) => text }: PgBouncerOptions,
): Promise<PgBouncer | undefined> {
  const program = findPgBouncer(t)
  if (program === undefined) return undefined
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const { port: serverPort, pathname } = new URL(storeUrl)
  const text = readShippedFile(file, {
    'port=5432 dbname=svc': `port=${serverPort} dbname=${pathname.slice(1)}`,
    'listen_port = 6432': `listen_port = ${port}`,
    // The test's PostgreSQL has no passwords.
    'auth_type = scram-sha-256': 'auth_type = trust',
    '/etc/pgbouncer/userlist.txt': join(folder, 'userlist.txt'),
  })
  writeFileSync(join(folder, 'userlist.txt'), '"postgres" ""\n')
  writeFileSync(join(folder, 'pgbouncer.ini'), `${edit(text)}\nunix_socket_dir =\n`)
  chownToPostgres(folder)
  // Like PostgreSQL it refuses to run as root.
  const { log } = await startProxyProcess(t, { program, words: [join(folder, 'pgbouncer.ini')], port, user: getPostgresUser() })
  return { storeUrl: `postgres://postgres@127.0.0.1:${port}/svc`, log }
}

/** Whether it keeps prepared statements in transaction mode, which 1.21 brought. Undefined where it is not installed. */
export function hasPreparedStatements(t: TestScope): boolean | undefined {
  const program = findPgBouncer(t)
  if (program === undefined) return undefined
  const said = execFileSync(program, ['--version'], { encoding: 'utf8' })
  const [, major = 0, minor = 0] = /PgBouncer (\d+)\.(\d+)/.exec(said) ?? []
  return Number(major) > 1 || Number(minor) >= 21
}

function findPgBouncer(t: TestScope): string | undefined {
  return requireProgram(t, process.env['TEST_PGBOUNCER'] ?? 'pgbouncer')
}
