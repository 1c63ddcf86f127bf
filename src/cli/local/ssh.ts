/** The commands of `svc ssh`. The connection itself is the user's own ssh in a pane of the workbench. */
import { resolve } from 'node:path'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'
import { toTable } from '../table.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import type { Ssh } from '../workbench/results.ts'
import type { WorkbenchClient } from './client.ts'
import { pickSsh } from './pick.ts'
import { withWorkbench } from './session.ts'

/** On a terminal a person sees the outcome; a script that has not asked for waiting is not held up. */
const waitOnTerminalS = 15

export const connect: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const identity = options.text('identity')
    const made = await client.call('ssh.connect', {
      destination: args.need('destination'),
      title: options.text('title'),
      port: options.number('port'),
      identity: identity === undefined ? undefined : fromHere(identity),
      options: [...options.list('option')],
    })
    const seconds = options.number('wait') ?? (context.stdout.isTerminal ? waitOnTerminalS : 0)
    const ssh = await settled(context, client, made.ssh, seconds * 1_000)
    if (ssh.state === 'failed') throw sshFailure(ssh)
    context.result({ ...made, ssh }, () => describe(context, ssh, options.flag('no-explorer')))
  })

export const list: Run = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('ssh.list', {})
    context.result(result, () => sshTable(context, result.connections))
  })

export const status: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const { ssh } = await client.call('ssh.status', { sshId: await pickSsh(client, args.need('ssh')) })
    context.result({ ssh }, () => describe(context, ssh, false))
  })

export const disconnect: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const { ssh } = await client.call('ssh.disconnect', { sshId: await pickSsh(client, args.need('ssh')) })
    context.result({ ssh }, () => describe(context, ssh, true))
  })

export const reconnect: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const { ssh } = await client.call('ssh.reconnect', { sshId: await pickSsh(client, args.need('ssh')) })
    const now = await settled(context, client, ssh, context.stdout.isTerminal ? waitOnTerminalS * 1_000 : 0)
    context.result({ ssh: now }, () => describe(context, now, false))
  })

/** ssh runs in another directory, so the key is named from here; `~` and `%d` are read by ssh itself. */
function fromHere(identity: string): string {
  return /^[~%]/.test(identity) ? identity : resolve(identity)
}

/** Asks until the connection has come or failed, or the time is over: the password may be asked for in the pane meanwhile. */
async function settled(context: Context, client: WorkbenchClient, ssh: Ssh, ms: number): Promise<Ssh> {
  const end = context.now() + ms
  let now = ssh
  const done = context.progress({
    en: 'connecting; what ssh asks is asked in its workspace…',
    zh: '正在连接;ssh 的提问会显示在其工作区中…',
  })
  try {
    while (!isSettled(now) && context.now() < end && !context.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      now = (await client.call('ssh.status', { sshId: ssh.id })).ssh
    }
    return now
  } finally {
    done()
  }
}

function isSettled(ssh: Ssh): boolean {
  return ssh.state === 'connected' ? ssh.explorer !== null || ssh.reason !== null : ssh.state !== 'connecting'
}

function describe(context: Context, ssh: Ssh, withoutExplorer: boolean): string {
  const head = `${ssh.id}  ${ssh.state}  ${terminalLine(ssh.destination)}  ${ssh.workspaceId}`
  if (ssh.explorer === null || withoutExplorer) return head
  return [
    head,
    context.say({ en: 'Remote files:', zh: '远程文件:' }),
    `  svc files open ${ssh.id}`,
    `  svc files ls ${ssh.id}:${terminalLine(ssh.explorer.root)}`,
  ].join('\n')
}

function sshTable(context: Context, connections: readonly Ssh[]): string {
  return toTable(connections, [
    { heading: '#', cell: (ssh) => String(connections.indexOf(ssh) + 1) },
    { heading: 'ID', cell: (ssh) => ssh.id },
    { heading: context.say({ en: 'DESTINATION', zh: '目标' }), cell: (ssh) => terminalLine(ssh.destination) },
    { heading: context.say({ en: 'STATE', zh: '状态' }), cell: (ssh) => ssh.state },
    { heading: context.say({ en: 'WORKSPACE', zh: '工作区' }), cell: (ssh) => ssh.workspaceId },
  ])
}

function sshFailure(ssh: Ssh): CommandFailure {
  const words = terminalText(ssh.reason ?? '').trim()
  const text = {
    en: `ssh could not connect${words === '' ? '.' : `:\n${words}`}`,
    zh: `ssh 连接失败${words === '' ? '。' : `:\n${words}`}`,
  }
  return new CommandFailure('ssh_failed', text, { details: { exit: ssh.exit, sshId: ssh.id } })
}
