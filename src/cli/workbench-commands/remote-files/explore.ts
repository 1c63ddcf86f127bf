/** `svc files explore`: drives the explorer by keys, in the pane that `svc files open` creates or in any terminal. */
import { resolve } from 'node:path'
import type { CommandHandler } from '../../command.ts'
import { CommandFailure, createUsageFailure } from '../../failure.ts'
import { sanitizeText } from '../../terminal/sanitize-text.ts'
import { limits } from '../../workbench/protocol/protocol.ts'
import type { WorkbenchClient } from '../connection/workbench-client.ts'
import type { ExplorerAction, Question, ExplorerView } from './explorer-view.ts'
import { renderScreen, joinPath, handleKey } from './explorer-view.ts'
import { getBaseName, parseRemotePath } from './remote-path.ts'
import { withWorkbench } from '../connection/with-workbench.ts'
import { download, upload } from './transfer.ts'

export const run: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const { stdin, stdout, signal } = context
    if (!stdout.isTerminal || !stdin.isTTY)
      throw createUsageFailure({ en: 'The explorer needs a terminal.', zh: '文件浏览器需要在终端中运行。' })
    const { sshId, path } = await parseRemotePath(client, args.requireText('place'))
    const { destination } = (await client.call('ssh.status', { sshId })).ssh
    const remote = { client, sshId }
    let view = await listFolder({ path, files: [], cursor: 0, message: '', question: null, text: null }, remote, path)
    const rows = (): number => process.stdout.rows
    const show = (): void => {
      const lines = renderScreen(view, destination, stdout.columns, rows())
      stdout.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`)
    }
    stdin.setRawMode(true)
    // The alternate screen: the terminal's earlier content returns at the end.
    stdout.write('\u001b[?1049h\u001b[?25l')
    process.stdout.on('resize', show)
    try {
      show()
      for await (const chunk of stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        for (const key of splitKeys(String(chunk))) {
          const step = handleKey(view, key, Math.max(1, rows() - 3))
          view = step.view
          if (step.action.kind === 'quit' || signal.aborted) return
          view = await performAction(view, step.action, remote)
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

/** Shows a failure in the explorer's message line; the explorer continues. */
async function performAction(view: ExplorerView, action: ExplorerAction, remote: Remote): Promise<ExplorerView> {
  try {
    switch (action.kind) {
      case 'list':
        return await listFolder(view, remote, action.path)
      case 'view': {
        const { data, end } = await remote.client.call('files.read', {
          sshId: remote.sshId,
          path: joinPath(view.path, action.file.name),
          offset: 0,
        })
        const lines = sanitizeText(Buffer.from(data, 'base64').toString('utf8')).replaceAll('\t', '    ').split('\n')
        const more = end ? [] : [`… the first ${limits.fileChunkBytes} bytes`]
        return {
          ...view,
          message: '',
          text: { title: joinPath(view.path, action.file.name), lines: [...lines, ...more], top: 0 },
        }
      }
      case 'answer':
        return await completeQuestion(view, action.question, action.file?.name, remote)
      default:
        return view
    }
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'workbench_unreachable') throw error
    return { ...view, message: error instanceof Error ? error.message : String(error) }
  }
}

async function completeQuestion(
  view: ExplorerView,
  question: Question,
  name: string | undefined,
  remote: Remote,
): Promise<ExplorerView> {
  const { client, sshId } = remote
  const { answer, kind } = question
  if (answer === '') return { ...view, message: '' }
  const target = { sshId, path: joinPath(view.path, name ?? '') }
  const reloadWithMessage = async (message: string): Promise<ExplorerView> => ({
    ...(await listFolder(view, remote, view.path)),
    message,
  })
  const quiet = (): void => undefined
  switch (kind) {
    case 'go':
      return listFolder(view, remote, answer)
    case 'mkdir':
      await client.call('files.mkdir', { sshId, path: joinPath(view.path, answer) })
      return reloadWithMessage(`made ${answer}`)
    case 'rename':
      await client.call('files.rename', { ...target, to: joinPath(view.path, answer) })
      return reloadWithMessage(`renamed to ${answer}`)
    case 'delete':
      if (answer !== 'yes') return { ...view, message: 'not deleted' }
      await client.call('files.remove', target)
      return reloadWithMessage(`deleted ${name ?? ''}`)
    case 'get':
      return { ...view, message: `got ${await download(client, target, resolve(answer), quiet)} bytes` }
    case 'put':
      return reloadWithMessage(
        `put ${await upload(client, resolve(answer), { sshId, path: joinPath(view.path, getBaseName(answer)) }, quiet)} bytes`,
      )
    default:
      return view
  }
}

async function listFolder(view: ExplorerView, { client, sshId }: Remote, path: string): Promise<ExplorerView> {
  const { path: real, files } = await client.call('files.list', { sshId, path })
  const cursor = real === view.path ? Math.min(view.cursor, Math.max(0, files.length - 1)) : 0
  return { ...view, path: real, files, cursor, message: '' }
}

/** Splits a chunk into keys: it may hold several, and a cursor key is several characters. */
function splitKeys(chunk: string): readonly string[] {
  // eslint-disable-next-line no-control-regex
  return chunk.match(/\u001b\[[0-9;]*[A-Za-z~]|[\s\S]/gu) ?? []
}
