import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findFreePort } from '../free-port.ts'
import { findProgram } from '../require-program.ts'

export interface TestSshd {
  /** The server's alias in the ssh configuration below. */
  readonly alias: string
  /** A folder with an `ssh` that reads that configuration: put it first on the PATH. */
  readonly bin: string
  readonly port: number
  readonly user: string
  stop(): void
}

/** A real sshd on loopback with keys created for this test, and an ssh configuration with a host alias for it. */
export async function startSshd(t: Test, dir: string): Promise<TestSshd> {
  const keys = join(dir, 'ssh')
  const bin = join(dir, 'bin')
  const home = join(dir, 'remote-home')
  mkdirSync(home, { recursive: true })
  mkdirSync(keys, { recursive: true, mode: 0o700 })
  mkdirSync(bin, { recursive: true })
  for (const name of ['host', 'user', 'wrong']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, name)])
  }
  execFileSync('cp', [join(keys, 'user.pub'), join(keys, 'authorized')])
  // sshd requires it when started by root; normally the package's start script creates it.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const port = await findFreePort()
  const user = userInfo().username
  writeFileSync(
    join(keys, 'sshd_config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${join(keys, 'host')}`,
      `AuthorizedKeysFile ${join(keys, 'authorized')}`,
      'PidFile none',
      'UsePAM no',
      'StrictModes no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      // The machine's own shell start files may take longer than a test waits.
      `SetEnv HOME=${home}`,
      'Subsystem sftp internal-sftp',
      '',
    ].join('\n'),
  )
  writeFileSync(join(keys, 'known'), `[127.0.0.1]:${port} ${execFileSync('cat', [join(keys, 'host.pub')], { encoding: 'utf8' })}`)
  const common = [
    'HostName 127.0.0.1',
    `Port ${port}`,
    `User ${user}`,
    'IdentitiesOnly yes',
    'LogLevel ERROR',
    'GlobalKnownHostsFile /dev/null',
  ]
  const host = (alias: string, ...more: readonly string[]): string => [`Host ${alias}`, ...common, ...more].join('\n  ')
  writeFileSync(
    join(keys, 'config'),
    [
      host('box', `IdentityFile ${join(keys, 'user')}`, `UserKnownHostsFile ${join(keys, 'known')}`, 'StrictHostKeyChecking yes'),
      host(
        'wrong-key',
        `IdentityFile ${join(keys, 'wrong')}`,
        `UserKnownHostsFile ${join(keys, 'known')}`,
        'StrictHostKeyChecking yes',
        'BatchMode yes',
      ),
      host(
        'unknown-host',
        `IdentityFile ${join(keys, 'user')}`,
        `UserKnownHostsFile ${join(keys, 'none')}`,
        'StrictHostKeyChecking yes',
      ),
      host('asks', `IdentityFile ${join(keys, 'user')}`, `UserKnownHostsFile ${join(keys, 'none')}`, 'StrictHostKeyChecking ask'),
      host(
        'own-control',
        `IdentityFile ${join(keys, 'user')}`,
        `UserKnownHostsFile ${join(keys, 'known')}`,
        'ControlMaster auto',
        `ControlPath ${join(dir, 'own-%C')}`,
        'ControlPersist no',
      ),
      'Host 127.0.0.1',
      ...common.slice(1).map((option) => `  ${option}`),
      `  IdentityFile ${join(keys, 'user')}`,
      `  UserKnownHostsFile ${join(keys, 'known')}`,
      '',
    ].join('\n'),
  )
  // ssh reads its configuration from the account's own home, which a test must not touch.
  const wrapper = join(bin, 'ssh')
  writeFileSync(wrapper, `#!/bin/sh\nexec ${findProgram('ssh') ?? 'ssh'} -F ${join(keys, 'config')} "$@"\n`)
  chmodSync(wrapper, 0o755)

  const sshd = spawn(findProgram('/usr/sbin/sshd') ?? 'sshd', ['-D', '-e', '-f', join(keys, 'sshd_config')], { stdio: 'ignore' })
  const exited = new Promise<void>((resolve) => sshd.once('exit', () => resolve()))
  const stop = (): void => {
    sshd.kill('SIGTERM')
  }
  t.teardown(async () => {
    stop()
    await exited
  })
  await waitUntilAccepting(port)
  return { alias: 'box', bin, port, user, stop }
}

async function waitUntilAccepting(port: number): Promise<void> {
  for (let tries = 0; tries < 250; tries += 1) {
    const ok = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('data', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (ok) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('sshd did not start')
}
