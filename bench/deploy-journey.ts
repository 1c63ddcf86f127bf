/**
 * From an empty Debian 12 to a public service, by the blocks of docs/deploy.md alone: prints a table with the time of each step, and exits
 * with 1 if a block fails or the whole takes more than fifteen minutes. The system is unpacked by debootstrap and started by its own systemd
 * in namespaces of its own; it shares the network of this machine.
 *
 *   node bench/deploy-journey.ts [--show]        as root; --show prints the output of each block
 *
 * What differs from a real server: the domain leads to this machine, its certificate is of Caddy's own authority, the upstream and the mail
 * server are programs of this one, Node's archive is copied from `node_modules/node`, and the release is packed from this checkout.
 * It needs Debian's debootstrap, and the ports 80, 443, 2019 and 8787.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sendJson, startScriptedServer } from '../test/support/upstream/scripted-server.ts'
import { startSmtpServer } from '../test/support/servers/smtp-server.ts'
import type { SmtpServer } from '../test/support/servers/smtp-server.ts'
import { ProgramScope } from './cluster/program-scope.ts'

const maxMinutes = 15
const checkout = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { show: { type: 'boolean', default: false } } })

interface Step {
  readonly heading: string
  readonly script: string
}

/** The blocks of a document's numbered sections, one step a section. */
function readSteps(document: string): Step[] {
  return document
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [heading = ''] = section.split('\n')
      const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
      return /^\d+\. /.test(heading) && blocks.length > 0 ? [{ heading, script: blocks.join('') }] : []
    })
}

function runOrThrow(program: string, words: readonly string[], cwd = checkout): string {
  const { status, stdout, stderr, error } = spawnSync(program, words, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (status !== 0) throw new Error(`${program} ${words.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}

/** Debian's smallest system with systemd, and what a release has in /root. */
function unpackServer(root: string): void {
  const mirror = /^URIs: *(\S+)/m.exec(readDebianSources())?.[1] ?? /^deb (?:\[[^\]]*\] )?(\S+)/m.exec(readDebianSources())?.[1]
  const packages = 'systemd,systemd-sysv,dbus,libcap2-bin,procps,iproute2'
  runOrThrow('debootstrap', [
    '--variant=minbase',
    `--include=${packages}`,
    'bookworm',
    root,
    ...(mirror === undefined ? [] : [mirror]),
  ])
  for (const path of ['etc/apt/apt.conf.d', 'etc/resolv.conf', 'etc/ssl/certs/ca-certificates.crt']) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    cpSync(`/${path}`, join(root, path), { recursive: true, dereference: true })
  }
  appendFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost models.example.com\n')
  const release = join(root, 'root')
  runOrThrow('npm', ['pack', '--pack-destination', release])
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { readonly version: string }
  const archive = `svc-gateway-deploy-${version}.tar.gz`
  runOrThrow('tar', ['--create', '--gzip', '--file', join(release, archive), 'deploy'])
  writeFileSync(join(release, 'SHA256SUMS'), runOrThrow('sha256sum', [archive, `svc-gateway-${version}.tgz`], release))
  const registry = runOrThrow('npm', ['config', 'get', 'registry']).trim()
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(root, 'opt/authorities.crt'), { dereference: true })
  writeFileSync(join(release, '.npmrc'), `registry=${registry}\ncafile=/opt/authorities.crt\n`)
  // Node's archive: node, and the npm of this machine.
  const node = join(root, 'opt/node')
  mkdirSync(join(node, 'bin'), { recursive: true })
  cpSync(join(checkout, 'node_modules/node/bin/node'), join(node, 'bin/node'))
  const npm = join(runOrThrow('npm', ['root', '--global']).trim(), 'npm')
  cpSync(npm, join(node, 'lib/node_modules/npm'), { recursive: true })
  runOrThrow('ln', ['-s', '../lib/node_modules/npm/bin/npm-cli.js', join(node, 'bin/npm')])
}

function readDebianSources(): string {
  const { stdout } = spawnSync('sh', ['-c', 'cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null'], {
    encoding: 'utf8',
  })
  return stdout
}

/** What a container's manager mounts before it starts systemd. */
const bootScript = `
set -e
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run" -o mode=755
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev" -o mode=755
for device in null zero full random urandom tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
ln -s /proc/self/fd "$root/dev/fd"
for pair in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/\${pair#*:}" "$root/dev/\${pair%:*}"; done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=666
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
# The system's own root: below a chroot the kernel creates no user namespace, which the unit needs.
mkdir -p "$root/.host"
cd "$root"
pivot_root . .host
umount --lazy /.host
exec env -i container=journey PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal </dev/null
`

/** Starts the unpacked system; its process 1 is the only child of the returned one. */
async function boot(scope: ProgramScope, root: string): Promise<number> {
  const namespaces = ['--mount', '--pid', '--fork', '--uts', '--ipc', '--cgroup', '--kill-child']
  const child = spawn('unshare', [...namespaces, 'bash', '-c', bootScript, 'boot', root], { stdio: 'ignore' })
  scope.teardown(async () => endProcess(child))
  for (let attempt = 0; attempt < 100; attempt++) {
    await sleep(200)
    const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim())
    if (pid > 0 && enter(pid, ['systemctl', 'is-system-running', '--wait']).status === 0) return pid
  }
  throw new Error('systemd did not start')
}

async function endProcess(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => void child.once('exit', resolve))
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await ended
  }
}

const toEntry = (pid: number, words: readonly string[]): string[] => [
  '--target',
  String(pid),
  '--mount',
  '--pid',
  '--uts',
  '--ipc',
  '--cgroup',
  ...words,
]
const enter = (pid: number, words: readonly string[]) => spawnSync('nsenter', toEntry(pid, words), { encoding: 'utf8' })

/** An upstream of chat completions with two models, and a mail server. */
async function startOutside(scope: ProgramScope) {
  const state = { isUp: true }
  const upstream = await startScriptedServer(scope, (request, response) => {
    if (!state.isUp) return sendJson(response, 503, { error: { message: 'down' } })
    if (request.url?.endsWith('/models') === true)
      return sendJson(response, 200, { object: 'list', data: [{ id: 'small' }, { id: 'large' }] })
    return sendJson(response, 200, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'large',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello!' } }],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    })
  })
  return { upstream, state, mail: await startSmtpServer(scope) }
}

/** Caddy as an authority of its own, which the system and Node trust. */
const trustCaddy = `sed --in-place '1i {\\n\\tlocal_certs\\n}' /etc/caddy/Caddyfile
$&
authority=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
for attempt in $(seq 100); do [ -e $authority ] && break; sleep 0.1; done
cp $authority /usr/local/share/ca-certificates/caddy.crt
update-ca-certificates >/dev/null
echo NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt >> /etc/svc-gateway/gateway.env`

/** The document's blocks with this machine's upstream, Node and certificate authority in place of the real ones. */
function adapt(script: string, upstreamUrl: string): string {
  return script
    .replaceAll('https://api.example.com/v1', upstreamUrl)
    .replace(/^curl [^\n]*nodejs\.org[\s\S]*?strip-components 1$/m, 'cp --recursive --no-target-directory /opt/node /usr/local')
    .replace(/^systemctl reload caddy$/m, trustCaddy)
}

async function travel(): Promise<boolean> {
  const scope = new ProgramScope()
  const folder = mkdtempSync(join(tmpdir(), 'journey-'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void scope.close().then(() => process.exit(1)))
  try {
    const root = join(folder, 'root')
    scope.teardown(() => rmSync(folder, { recursive: true, force: true }))
    unpackServer(root)
    const { upstream, state, mail } = await startOutside(scope)
    writeFileSync(join(root, 'root/upstream-key'), 'a key of this journey\n')
    writeFileSync(join(root, 'root/smtp-url'), `${mail.url}\n`)
    const pid = await boot(scope, root)
    return await runSteps(scope, { pid, root, mail, upstream: state, upstreamUrl: upstream.url })
  } finally {
    await scope.close()
  }
}

interface Server {
  readonly pid: number
  readonly root: string
  readonly mail: SmtpServer
  readonly upstream: { isUp: boolean }
  readonly upstreamUrl: string
}

/** One shell runs all steps, so that a variable of one is known in the next. */
class Shell {
  readonly #root: string
  readonly #process: ChildProcess
  #output = ''

  constructor(scope: ProgramScope, { pid, root }: Server) {
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    const environment = ['env', '-i', 'HOME=/root', `PATH=${path}`, 'DEBIAN_FRONTEND=noninteractive']
    this.#root = root
    this.#process = spawn('nsenter', toEntry(pid, [...environment, 'bash']))
    scope.teardown(async () => endProcess(this.#process))
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
        if (values.show) process.stderr.write(text)
      })
  }

  async run(script: string): Promise<{ readonly output: string; readonly isRight: boolean }> {
    this.#output = ''
    // A file, because programs of the block would read the rest of it from the shell's input.
    writeFileSync(join(this.#root, 'root/.step'), `set -e -o pipefail\n${script}`)
    this.#process.stdin?.write(
      `trap 'printf "\\nstep failed: %s\\n" $?' EXIT\n. ~/.step </dev/null\ntrap - EXIT\nprintf '\\nstep ended\\n'\n`,
    )
    while (!/^step (?:ended|failed)/m.test(this.#output) && this.#process.exitCode === null) await sleep(100)
    return { output: this.#output, isRight: /^step ended/m.test(this.#output) }
  }
}

const callScript = `curl --silent --output /dev/null "https://$DOMAIN/v1/chat/completions" --header "Authorization: Bearer $KEY" \
  --header 'Content-Type: application/json' --data '{"model":"auto","messages":[{"role":"user","content":"Hello"}]}'\n`

async function runSteps(scope: ProgramScope, server: Server): Promise<boolean> {
  const { mail, upstream } = server
  const shell = new Shell(scope, server)
  const rows: string[] = []
  const beganAt = performance.now()
  const runStep = async (name: string, run: () => Promise<{ output: string; isRight: boolean }>): Promise<boolean> => {
    const stepBeganAt = performance.now()
    const emailsBefore = mail.received.length
    const { output, isRight } = await run()
    const seconds = ((performance.now() - stepBeganAt) / 1_000).toFixed(1)
    rows.push(`| ${name} | ${seconds} s | ${isRight ? 'yes' : 'no'} | ${mail.received.length - emailsBefore} |`)
    process.stderr.write(`${name}: ${seconds} s${isRight ? '' : ', failed'}\n`)
    if (!isRight && !values.show) process.stderr.write(`${output}\n`)
    if (!isRight) process.stderr.write(enter(server.pid, ['journalctl', '--no-pager', '--lines', '60']).stdout)
    return isRight
  }
  let isRight = true
  for (const { heading, script } of readSteps(readFileSync(join(checkout, 'docs/deploy.md'), 'utf8')))
    isRight &&= await runStep(heading, () => shell.run(adapt(script, server.upstreamUrl)))
  isRight &&= await runStep('The upstream fails, and an email reports it', async () => {
    upstream.isUp = false
    const emailsBefore = mail.received.length
    const isReported = (): boolean => mail.received.slice(emailsBefore).some(({ text }) => text.includes('an upstream is down'))
    for (let attempt = 0; attempt < 90 && !isReported(); attempt++) {
      await shell.run(callScript)
      await sleep(2_000)
    }
    return { output: 'no email arrived', isRight: isReported() }
  })
  const minutes = (performance.now() - beganAt) / 60_000
  process.stdout.write(
    `| Step | Time | As documented | Emails |\n|---|---|---|---|\n${rows.join('\n')}\n\n${minutes.toFixed(1)} minutes in all.\n`,
  )
  return isRight && minutes <= maxMinutes
}

process.exitCode = (await travel()) ? 0 : 1
