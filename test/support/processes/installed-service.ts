/**
 * An installation as deploy/install.sh makes it, below a folder of the test: versions, the link `current`, and in place of systemd and npm two
 * small programs. This systemctl starts the version of the link, and returns when it listens or has ended; this npm unpacks a tarball and
 * uses the packages of the checkout.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { toCleanCommand } from '../../runner/clean-command.ts'
import type { TestScope } from '../test-scope.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import { runToEnd } from './built-version.ts'
import { checkoutRoot } from './server-process.ts'

const unprivilegedUser = 65_534

const systemctl = `
import { spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
const { root, state, owner, env } = JSON.parse(readFileSync(new URL('service.json', import.meta.url), 'utf8'))
const pidFile = state + '/pid'
const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return !/^State:\\s+Z/m.test(readFileSync('/proc/' + pid + '/status', 'utf8'))
  } catch {
    return false
  }
}
const readPid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0)
const stop = async () => {
  const pid = readPid()
  if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGTERM')
  while (pid > 0 && isAlive(pid)) await after(20)
  rmSync(pidFile, { force: true })
}
const start = async () => {
  if (readPid() > 0 && isAlive(readPid())) return true
  rmSync(state + '/log', { force: true })
  const log = openSync(state + '/log', 'a')
  const child = spawn(root + '/current/bin/svc-gateway', ['start'], { env, cwd: env.DATA_DIR, detached: true, stdio: ['ignore', log, log], ...owner })
  writeFileSync(pidFile, String(child.pid))
  const isReady = () => readFileSync(state + '/log', 'utf8').includes('"listening"')
  while (!isReady() && isAlive(child.pid)) await after(20)
  child.unref()
  return isReady()
}
const [action] = process.argv.slice(2)
writeFileSync(state + '/actions', action + '\\n', { flag: 'a' })
if (action === 'stop' || action === 'restart') await stop()
if (action === 'start' || action === 'restart') process.exitCode = (await start()) ? 0 : 1
`

const npm = `#!/bin/sh
set -e
while [ "$1" != --prefix ]; do shift; done
prefix=$2
for tarball in "$@"; do :; done
package=$prefix/lib/node_modules/svc-gateway
mkdir -p "$package" "$prefix/bin"
tar -xzf "$tarball" --strip-components=1 --no-same-owner -C "$package"
ln -s ${join(checkoutRoot, 'node_modules')} "$package/node_modules"
chmod 755 "$package/bin/svc-gateway.js"
ln -s ../lib/node_modules/svc-gateway/bin/svc-gateway.js "$prefix/bin/svc-gateway"
`

/** Loaded into the command: lists the steps that change something or start a program, and kills the process before the given one. */
const killAtStep = `
const fs = require('node:fs')
const { writeSync } = fs
if (process.argv[2] === 'upgrade') {
  const list = fs.openSync(process.env.STEPS_FILE, 'a')
  let steps = 0
  const wrap = (module, name) => {
    const original = module[name]
    module[name] = (...words) => {
      steps += 1
      writeSync(list, name + ' ' + words.slice(0, 2).flat().join(' ').replaceAll('\\n', ' ') + '\\n')
      if (steps === Number(process.env.KILL_AT_STEP)) process.kill(process.pid, 'SIGKILL')
      return original(...words)
    }
  }
  for (const name of ['renameSync', 'symlinkSync', 'rmSync', 'mkdirSync', 'writeFileSync']) wrap(fs, name)
  wrap(require('node:child_process'), 'spawn')
  require('node:module').syncBuiltinESMExports()
}
`

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export class InstalledService {
  readonly root: string
  readonly dataDir: string
  readonly #folder: string
  readonly #environment: Record<string, string>

  /** @param settings variables of the service */
  constructor(t: TestScope, settings: Readonly<Record<string, string>> = {}) {
    this.#folder = createTemporaryFolder(t)
    this.root = join(this.#folder, 'opt/svc-gateway')
    this.dataDir = join(this.#folder, 'data')
    chmodSync(this.#folder, 0o755)
    for (const name of ['opt/svc-gateway', 'bin', 'state', 'data']) mkdirSync(join(this.#folder, name), { recursive: true })
    symlinkSync(process.execPath, join(this.#folder, 'bin/node'))
    // One job at a time, as with systemd; it goes on where the program that asked for it is killed.
    const run = `flock -o ${join(this.#state, 'lock')} node ${join(this.#folder, 'bin/systemctl.mjs')}`
    this.#addProgram('systemctl', `#!/bin/sh\nexec ${run} "$@"\n`)
    this.#addProgram('kill-at-step.cjs', killAtStep)
    this.#addProgram('systemctl.mjs', systemctl)
    this.#addProgram('npm', npm)
    const owner = canRunHere(unprivilegedUser) ? { uid: unprivilegedUser, gid: unprivilegedUser } : {}
    if (owner.uid !== undefined) chownSync(this.dataDir, owner.uid, owner.gid)
    chmodSync(this.dataDir, 0o700)
    this.#environment = {
      PATH: `${join(this.#folder, 'bin')}:/usr/bin:/bin`,
      HOME: this.dataDir,
      DATA_DIR: this.dataDir,
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      NODE_DISABLE_COMPILE_CACHE: '1',
      ...settings,
    }
    const service = { root: this.root, state: this.#state, owner, env: this.#environment }
    writeFileSync(join(this.#folder, 'bin/service.json'), JSON.stringify(service))
    t.teardown(() => this.control('stop'))
  }

  get #state(): string {
    return join(this.#folder, 'state')
  }

  #addProgram(name: string, content: string): void {
    writeFileSync(join(this.#folder, 'bin', name), content, { mode: 0o755 })
  }

  /** Installs a tarball as install.sh does. */
  install(version: string, tarball: string): void {
    runToEnd(join(this.#folder, 'bin/npm'), ['install', '--prefix', join(this.root, version), tarball], this.#folder)
    if (!existsSync(join(this.root, 'current'))) symlinkSync(version, join(this.root, 'current'))
  }

  get current(): string {
    return readlinkSync(join(this.root, 'current'))
  }

  /** Names in the program's folder. */
  list(): readonly string[] {
    return readdirSync(this.root).toSorted()
  }

  /** What systemctl was asked for, in order. */
  get actions(): readonly string[] {
    return readFileSync(join(this.#state, 'actions'), 'utf8').trim().split('\n')
  }

  get log(): string {
    return readFileSync(join(this.#state, 'log'), 'utf8')
  }

  get origin(): string {
    return /listens on (http:\/\/\S+)/.exec(this.log)?.[1] ?? 'http://service.invalid'
  }

  /** Of the first account, from the log of the first start. */
  readKey(): string {
    return /\b(svc_live_\w+)/.exec(this.log)?.[1] ?? 'none'
  }

  control(action: 'start' | 'stop' | 'restart'): boolean {
    const options = { env: this.#environment, stdio: 'ignore' } as const
    return spawnSync(join(this.#folder, 'bin/systemctl'), [action, 'svc-gateway.service'], options).status === 0
  }

  /** Runs the operator's command of a version as root, with the settings of the service. */
  async operate(
    version: string,
    words: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    nodeOptions?: string,
  ): Promise<CommandResult> {
    const [command, all] = toCleanCommand(join(this.root, version, 'bin/svc-gateway'), words, nodeOptions)
    const child = spawn(command, all, {
      env: { ...this.#environment, HOME: this.#state, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await code, stdout, stderr }
  }

  /** As `operate`, and kills the command before its step of that number; 0: never. Returns the steps that it took, too. */
  async operateKilled(
    version: string,
    words: readonly string[],
    step: number,
  ): Promise<CommandResult & { readonly steps: readonly string[] }> {
    const file = join(this.#state, 'steps')
    rmSync(file, { force: true })
    const preload = join(this.#folder, 'bin/kill-at-step.cjs')
    const environment = { STEPS_FILE: file, KILL_AT_STEP: String(step) }
    const result = await this.operate(version, words, environment, `--require=${preload}`)
    return { ...result, steps: readFileSync(file, 'utf8').trim().split('\n') }
  }

  /** What svc-gateway-upgrade-back.service does when systemd has given up: its conditions, and its command. */
  async goBackUnlessServed(): Promise<CommandResult | null> {
    const isWanted = existsSync(join(this.root, 'unfinished')) && !existsSync(join(this.dataDir, 'has-served'))
    return isWanted ? this.operate('unfinished', ['upgrade', '--back', '--unless-served']) : null
  }

  chat(key: string): Promise<Response> {
    return fetch(`${this.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }),
    })
  }
}

/** Whether another user can run programs of this checkout. */
function canRunHere(uid: number): boolean {
  const words = [
    '--input-type=module',
    '--eval',
    `await import(${JSON.stringify(join(checkoutRoot, 'node_modules/koa/package.json'))}, { with: { type: 'json' } })`,
  ]
  return process.getuid?.() === 0 && spawnSync(process.execPath, words, { uid, gid: uid, cwd: '/', env: {} }).status === 0
}
