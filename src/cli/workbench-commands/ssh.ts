/** The commands of `svc ssh`. The connection itself is the user's own ssh in a pane of the workbench. */
import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { sanitizeLine, sanitizeText } from '../terminal/sanitize-text.ts'
import type { Ssh } from '../workbench/protocol/results.ts'
import type { WorkbenchClient } from './connection/workbench-client.ts'
import { resolveSshId } from './connection/resolve-id.ts'
import { withWorkbench } from './connection/with-workbench.ts'

/** On a terminal the command waits for the outcome; a script waits only with `--wait`. */
const terminalWaitSeconds = 15

export const connect: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const identity = options.getText('identity')
    const connection = await client.call('ssh.connect', {
      destination: args.requireText('destination'),
      title: options.getText('title'),
      port: options.getNumber('port'),
      identity: identity === undefined ? undefined : resolveIdentityPath(identity),
      options: [...options.getList('option')],
    })
    const seconds = options.getNumber('wait') ?? (context.stdout.isTerminal ? terminalWaitSeconds : 0)
    const ssh = await waitUntilSettled(context, client, connection.ssh, seconds * 1_000)
    if (ssh.state === 'failed') throw createSshFailure(ssh)
    context.printResult({ ...connection, ssh }, () => formatSsh(context, ssh, options.getFlag('no-explorer')))
  })

export const list: CommandHandler = (context) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('ssh.list', {})
    context.printResult(result, () => formatSshTable(context, result.connections))
  })

export const status: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const { ssh } = await client.call('ssh.status', { sshId: await resolveSshId(client, args.requireText('ssh')) })
    context.printResult({ ssh }, () => formatSsh(context, ssh, false))
  })

export const disconnect: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const { ssh } = await client.call('ssh.disconnect', { sshId: await resolveSshId(client, args.requireText('ssh')) })
    context.printResult({ ssh }, () => formatSsh(context, ssh, true))
  })

export const reconnect: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const { ssh } = await client.call('ssh.reconnect', { sshId: await resolveSshId(client, args.requireText('ssh')) })
    const now = await waitUntilSettled(context, client, ssh, context.stdout.isTerminal ? terminalWaitSeconds * 1_000 : 0)
    context.printResult({ ssh: now }, () => formatSsh(context, now, false))
  })

/** ssh runs in another directory, so the key's path becomes absolute here; ssh itself expands `~` and `%d`. */
function resolveIdentityPath(identity: string): string {
  return /^[~%]/.test(identity) ? identity : resolve(identity)
}

/** Polls until the connection is up, has failed, or the time is over; meanwhile the user may type the password in the pane. */
async function waitUntilSettled(context: Context, client: WorkbenchClient, ssh: Ssh, timeoutMs: number): Promise<Ssh> {
  const end = context.now() + timeoutMs
  let now = ssh
  const stopProgress = context.showProgress({
    en: 'connecting; ssh asks its questions in its workspace…',
    zh: '正在连接；ssh 的提问会显示在其工作区中…',
  })
  try {
    while (!isSettled(now) && context.now() < end && !context.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      now = (await client.call('ssh.status', { sshId: ssh.id })).ssh
    }
    return now
  } finally {
    stopProgress()
  }
}

function isSettled(ssh: Ssh): boolean {
  return ssh.state === 'connected' ? ssh.explorer !== null || ssh.reason !== null : ssh.state !== 'connecting'
}

function formatSsh(context: Context, ssh: Ssh, withoutExplorer: boolean): string {
  const head = `${ssh.id}  ${ssh.state}  ${sanitizeLine(ssh.destination)}  ${ssh.workspaceId}`
  if (ssh.explorer === null || withoutExplorer) return head
  return [
    head,
    context.localize({ en: 'Remote files:', zh: '远程文件：' }),
    `  svc files open ${ssh.id}`,
    `  svc files ls ${ssh.id}:${sanitizeLine(ssh.explorer.root)}`,
  ].join('\n')
}

function formatSshTable(context: Context, connections: readonly Ssh[]): string {
  return drawTable(context, connections, [
    { heading: '#', cell: (ssh) => String(connections.indexOf(ssh) + 1) },
    { heading: 'ID', cell: (ssh) => ssh.id },
    { heading: context.localize({ en: 'DESTINATION', zh: '目标' }), cell: (ssh) => sanitizeLine(ssh.destination) },
    { heading: context.localize({ en: 'STATE', zh: '状态' }), cell: (ssh) => ssh.state },
    { heading: context.localize({ en: 'WORKSPACE', zh: '工作区' }), cell: (ssh) => ssh.workspaceId, drop: 1 },
    { heading: context.localize({ en: 'REASON', zh: '原因' }), cell: (ssh) => sanitizeLine(ssh.reason ?? ''), drop: 2 },
  ])
}

function createSshFailure(ssh: Ssh): CommandFailure {
  const words = sanitizeText(ssh.reason ?? '').trim()
  const text = {
    en: `ssh could not connect${words === '' ? '.' : `:\n${words}`}`,
    zh: `ssh 连接失败${words === '' ? '。' : `：\n${words}`}`,
  }
  return new CommandFailure('ssh_failed', text, { details: { exit: ssh.exit, sshId: ssh.id } })
}
