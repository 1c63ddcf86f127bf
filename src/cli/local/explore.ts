/** `svc files explore`: drives the explorer by keys only, in the pane that `svc files open` makes for it or in any terminal. */
import { resolve } from 'node:path'
import type { Run } from '../command.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { terminalText } from '../terminal-text.ts'
import { limits } from '../workbench/protocol.ts'
import type { WorkbenchClient } from './client.ts'
import type { Deed, Question, View } from './explorer.ts'
import { draw, join, press } from './explorer.ts'
import { baseName, remotePlace } from './remote-path.ts'
import { withWorkbench } from './session.ts'
import { download, upload } from './transfer.ts'

export const run: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const { stdin, stdout, signal } = context
    if (!stdout.isTerminal || !stdin.isTTY)
      throw usageFailure({ en: 'The explorer needs a terminal.', zh: '文件浏览器需要在终端中运行。' })
    const { sshId, path } = await remotePlace(client, args.need('place'))
    const { destination } = (await client.call('ssh.status', { sshId })).ssh
    const remote = { client, sshId }
    let view = await list({ path, files: [], cursor: 0, message: '', question: null, text: null }, remote, path)
    const rows = (): number => process.stdout.rows
    const show = (): void => {
      const lines = draw(view, destination, stdout.columns, rows())
      stdout.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`)
    }
    stdin.setRawMode(true)
    // Its own screen: what the terminal showed before comes back at the end.
    stdout.write('\u001b[?1049h\u001b[?25l')
    process.stdout.on('resize', show)
    try {
      show()
      for await (const chunk of stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        for (const key of keysOf(String(chunk))) {
          const step = press(view, key, Math.max(1, rows() - 3))
          view = step.view
          if (step.deed.kind === 'quit' || signal.aborted) return
          view = await perform(view, step.deed, remote)
        }
        show()
      }
    } finally {
      process.stdout.off('resize', show)
      stdin.setRawMode(false)
      stdout.write('\u001b[?25h\u001b[?1049l')
    }
  })

interface Remote {
  readonly client: WorkbenchClient
  readonly sshId: string
}

/** What goes wrong is told in the explorer's line; the explorer goes on. */
async function perform(view: View, deed: Deed, remote: Remote): Promise<View> {
  try {
    switch (deed.kind) {
      case 'list':
        return await list(view, remote, deed.path)
      case 'view': {
        const { data, end } = await remote.client.call('files.read', {
          sshId: remote.sshId,
          path: join(view.path, deed.file.name),
          offset: 0,
        })
        const lines = terminalText(Buffer.from(data, 'base64').toString('utf8')).replaceAll('\t', '    ').split('\n')
        const more = end ? [] : [`… the first ${limits.fileChunkBytes} bytes`]
        return { ...view, message: '', text: { title: join(view.path, deed.file.name), lines: [...lines, ...more], top: 0 } }
      }
      case 'answer':
        return await settle(view, deed.question, deed.file?.name, remote)
      default:
        return view
    }
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'workbench_unreachable') throw error
    return { ...view, message: error instanceof Error ? error.message : String(error) }
  }
}

async function settle(view: View, question: Question, name: string | undefined, remote: Remote): Promise<View> {
  const { client, sshId } = remote
  const { answer, kind } = question
  if (answer === '') return { ...view, message: '' }
  const here = { sshId, path: join(view.path, name ?? '') }
  const told = async (message: string): Promise<View> => ({ ...(await list(view, remote, view.path)), message })
  const quiet = (): void => undefined
  switch (kind) {
    case 'go':
      return list(view, remote, answer)
    case 'mkdir':
      await client.call('files.mkdir', { sshId, path: join(view.path, answer) })
      return told(`made ${answer}`)
    case 'rename':
      await client.call('files.rename', { ...here, to: join(view.path, answer) })
      return told(`renamed to ${answer}`)
    case 'delete':
      if (answer !== 'yes') return { ...view, message: 'not deleted' }
      await client.call('files.remove', here)
      return told(`deleted ${name ?? ''}`)
    case 'get':
      return { ...view, message: `got ${await download(client, here, resolve(answer), quiet)} bytes` }
    case 'put':
      return told(`put ${await upload(client, resolve(answer), { sshId, path: join(view.path, baseName(answer)) }, quiet)} bytes`)
    default:
      return view
  }
}

async function list(view: View, { client, sshId }: Remote, path: string): Promise<View> {
  const { path: real, files } = await client.call('files.list', { sshId, path })
  const cursor = real === view.path ? Math.min(view.cursor, Math.max(0, files.length - 1)) : 0
  return { ...view, path: real, files, cursor, message: '' }
}

/** Several keys may come in one chunk; a cursor key is one of several characters. */
function keysOf(chunk: string): readonly string[] {
  // eslint-disable-next-line no-control-regex
  return chunk.match(/\u001b\[[0-9;]*[A-Za-z~]|[\s\S]/gu) ?? []
}
