/**
 * A private Postfix of this machine: a relay with SASL, optional TLS and a policy service that greylists, which passes accepted emails on to
 * `nextHop`. Its configuration, queue and data are in a folder of its own, and it ends with the test.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findFreePort } from '../free-port.ts'
import { findProgram, skipWithoutProgram } from '../require-program.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { TestScope } from '../test-scope.ts'
import { waitUntil } from '../wait-until.ts'

export interface Postfix {
  readonly port: number
  /** Recipients that the policy service was asked about. */
  readonly askedRecipients: string[]
  /** Whether the policy service defers recipients, as greylisting does. */
  setGreylisting(isOn: boolean): void
}

interface PostfixOptions {
  readonly user: string
  readonly password: string
  /** The port of the server that accepted emails go to. */
  readonly nextHopPort: number
  /** Offers STARTTLS with these files, and sign-in over TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** The programs that Postfix requires, with its own limits of processes. */
const services = `
cleanup unix n - n - 0 cleanup
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
relay unix - - n - - smtp
smtp unix - - n - - smtp
anvil unix - - n - 1 anvil`

/** Undefined if it is not installed, or this is not root, which Postfix needs: the test is then skipped. */
export async function startPostfix(t: TestScope, options: PostfixOptions): Promise<Postfix | undefined> {
  const program = findProgram('postfix')
  if (program === undefined || process.getuid?.() !== 0) {
    skipWithoutProgram(t, 'postfix, as root,')
    return undefined
  }
  const folder = createTemporaryFolder(t, '/tmp')
  chmodSync(folder, 0o755)
  const [config, queue, data] = ['config', 'queue', 'data'].map((name) => {
    const path = join(folder, name)
    mkdirSync(path, { mode: 0o755 })
    return path
  }) as [string, string, string]
  const id = (kind: '-u' | '-g') => Number(execFileSync('id', [kind, 'postfix'], { encoding: 'utf8' }))
  chownSync(data, id('-u'), id('-g'))
  const policy = await startPolicyService(t)
  const port = await findFreePort()
  const signInPort = await startSignInService(t, options)
  const settings = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: data,
    maillog_file: join(folder, 'log'),
    maillog_file_prefixes: '/tmp',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'relay.example',
    mydestination: '',
    mynetworks: '',
    local_recipient_maps: '',
    alias_maps: '',
    alias_database: '',
    relayhost: `[127.0.0.1]:${options.nextHopPort}`,
    smtp_host_lookup: 'native',
    smtpd_sasl_auth_enable: 'yes',
    smtpd_sasl_type: 'dovecot',
    smtpd_sasl_path: `inet:127.0.0.1:${signInPort}`,
    smtpd_helo_required: 'yes',
    smtpd_helo_restrictions: 'reject_invalid_helo_hostname, reject_non_fqdn_helo_hostname',
    smtpd_relay_restrictions: 'permit_sasl_authenticated, reject',
    smtpd_recipient_restrictions: `check_policy_service inet:127.0.0.1:${policy.port}, permit_sasl_authenticated, reject`,
    ...(options.tls && {
      smtpd_tls_security_level: 'may',
      smtpd_tls_auth_only: 'yes',
      smtpd_tls_cert_file: options.tls.cert,
      smtpd_tls_key_file: options.tls.key,
    }),
  }
  writeFileSync(
    join(config, 'main.cf'),
    Object.entries(settings)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(''),
  )
  writeFileSync(
    join(config, 'master.cf'),
    [
      `127.0.0.1:${port} inet n - n - - smtpd`,
      'postlog unix-dgram n - n - 1 postlogd',
      'qmgr unix n - n 300 1 qmgr',
      'tlsmgr unix - - n 1000? 1 tlsmgr',
      services,
      '',
    ].join('\n'),
  )
  // Creates the folders of the queue.
  execFileSync(program, ['-c', config, 'check'], { stdio: 'pipe' })
  const daemons = execFileSync(program.replace(/fix$/, 'conf'), ['-c', config, '-h', 'daemon_directory'], {
    encoding: 'utf8',
  }).trim()
  const server = spawn(join(daemons, 'master'), ['-c', config, '-d'], { stdio: 'ignore' })
  const exited = once(server, 'exit')
  t.teardown(async () => {
    if (server.exitCode !== null) return
    // The server's helpers end with it.
    server.kill('SIGTERM')
    await exited
  })
  await waitUntil(async () => {
    if (server.exitCode !== null) throw new Error(`Postfix did not start:\n${readFileSync(join(folder, 'log'), 'utf8')}`)
    return canConnect(port)
  }, 'Postfix to listen')
  return { port, askedRecipients: policy.askedRecipients, setGreylisting: policy.setGreylisting }
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  }).finally(() => socket.destroy())
}

/** Postfix's policy protocol: attributes line by line, an empty line, an action. */
async function startPolicyService(t: TestScope) {
  let isGreylisting = false
  const askedRecipients: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    createInterface({ input: socket }).on('line', (line) => {
      if (line.startsWith('recipient=')) askedRecipients.push(line.slice('recipient='.length))
      if (line === '') socket.write(`action=${isGreylisting ? 'defer_if_permit Greylisted, try again later' : 'dunno'}\n\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return {
    port: (server.address() as AddressInfo).port,
    askedRecipients,
    setGreylisting: (isOn: boolean) => void (isGreylisting = isOn),
  }
}

/** Dovecot's authentication protocol, as Postfix speaks it, for one user and PLAIN. */
async function startSignInService(t: TestScope, { user, password }: PostfixOptions): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('VERSION\t1\t1\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t0123456789abcdef0123456789abcdef\nDONE\n')
    createInterface({ input: socket }).on('line', (line) => {
      const [command, id, , ...fields] = line.split('\t')
      if (command !== 'AUTH') return
      const response = fields.find((field) => field.startsWith('resp='))?.slice('resp='.length) ?? ''
      const [, name, secret] = Buffer.from(response, 'base64').toString().split('\0')
      socket.write(name === user && secret === password ? `OK\t${id}\tuser=${user}\n` : `FAIL\t${id}\tuser=${name}\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port
}
