/** The commands of `svc files`: the remote files of an ssh connection of the workbench. */
import { stat as localStat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandFailure, createUsageFailure } from '../failure.ts'
import { drawTable } from '../terminal/draw-table.ts'
import { formatTimestamp, withZone } from '../terminal/amounts.ts'
import { sanitizeLine, TerminalTextFilter } from '../terminal/sanitize-text.ts'
import type { RemoteFile } from '../workbench/protocol/results.ts'
import { resolveSshId } from './connection/resolve-id.ts'
import { getBaseName, joinRemotePath, parseRemotePath } from './remote-files/remote-path.ts'
import { withWorkbench } from './connection/with-workbench.ts'
import { resolveLinks, download, upload } from './remote-files/transfer.ts'

export const list: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('files.list', await parseRemotePath(client, args.requireText('place')))
    context.printResult({ ...result, files: result.files.map(toDocument) }, () => formatFileTable(context, result.files))
  })

export const stat: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('files.stat', await parseRemotePath(client, args.requireText('place')))
    context.printResult({ ...result, file: toDocument(result.file) }, () => formatFileTable(context, [result.file]))
  })

export const cat: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const place = await parseRemotePath(client, args.requireText('place'))
    const decoder = new TextDecoder()
    const filter = new TerminalTextFilter()
    let text = ''
    let offset = 0
    for (let end = false; !end && !context.signal.aborted;) {
      const piece = await client.call('files.read', { ...place, offset })
      offset += piece.bytes
      end = piece.end
      const data = Buffer.from(piece.data, 'base64')
      // A pipe receives the file unchanged; only a terminal would interpret control sequences.
      if (!context.json && !context.stdout.isTerminal) {
        context.stdout.write(data)
        continue
      }
      const words = decoder.decode(data, { stream: !end })
      if (context.json) text += words
      else context.stdout.write(filter.push(words))
    }
    if (context.json) context.printResult({ text }, () => '')
  })

export const get: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const from = await parseRemotePath(client, args.requireText('place'))
    const to = await resolveLocalTarget(resolve(args.getText('file') ?? getBaseName(from.path)), getBaseName(from.path))
    const bytes = await withByteProgress(context, (progress) => download(client, from, to, progress))
    context.printResult({ path: to, bytes }, () => `${sanitizeLine(to)}  ${bytes}`)
  })

export const put: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const from = resolve(args.requireText('file'))
    const place = await parseRemotePath(client, args.requireText('place'))
    const into = (await resolveLinks(client, place)).type === 'directory' || args.requireText('place').endsWith('/')
    const to = into ? { ...place, path: joinRemotePath(place.path, getBaseName(from)) } : place
    const facts = await localStat(from).catch((cause: unknown) => {
      throw new CommandFailure(
        'not_found',
        { en: `There is no file ${from}.`, zh: `文件不存在：${from}。` },
        { exit: 'notFound', cause },
      )
    })
    if (!facts.isFile()) throw createUsageFailure({ en: `${from} is not a file.`, zh: `${from} 不是文件。` })
    const stop = new AbortController()
    // The partial remote file is removed before the connection closes. A second Ctrl-C skips that.
    const release = context.interceptInterrupts(() => {
      release()
      stop.abort()
    })
    const bytes = await withByteProgress(context, (progress) => upload(client, from, to, progress, stop.signal)).finally(release)
    context.printResult({ path: to.path, bytes }, () => `${sanitizeLine(to.path)}  ${bytes}`)
  })

export const mkdir: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    context.printResult(await client.call('files.mkdir', await parseRemotePath(client, args.requireText('place'))), () => '')
  })

export const remove: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    context.printResult(await client.call('files.remove', await parseRemotePath(client, args.requireText('place'))), () => '')
  })

export const move: CommandHandler = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const place = await parseRemotePath(client, args.requireText('place'))
    const result = await client.call('files.rename', {
      ...place,
      to: args.requireText('to'),
      replace: options.getFlag('replace'),
    })
    context.printResult(result, () => '')
  })

export const open: CommandHandler = (context, args) =>
  withWorkbench(context, async (client) => {
    const [word = '', ...rest] = args.requireText('ssh').split(':')
    const path = rest.join(':')
    const result = await client.call('files.open', { sshId: await resolveSshId(client, word), ...(path === '' ? {} : { path }) })
    context.printResult(result, () => result.pane.id)
  })

function formatFileTable(context: Context, files: readonly RemoteFile[]): string {
  return files.length === 0
    ? ''
    : drawTable(context, files, [
        { heading: context.localize({ en: 'MODE', zh: '权限' }), cell: formatMode, drop: 2 },
        { heading: context.localize({ en: 'SIZE', zh: '大小' }), align: 'right', cell: ({ size }) => formatBytes(size) },
        {
          heading: withZone(context.localize({ en: 'MODIFIED', zh: '修改时间' })),
          cell: ({ modified }) => formatTimestamp(context, modified),
          drop: 1,
        },
        {
          heading: context.localize({ en: 'NAME', zh: '名称' }),
          cell: ({ name, type }) => `${sanitizeLine(name)}${type === 'directory' ? '/' : ''}`,
        },
      ])
}

/** For programs: the time as RFC 3339. */
function toDocument(file: RemoteFile): object {
  return { ...file, modified: new Date(file.modified * 1000).toISOString() }
}

/** As `ls -l` has it: `drwxr-xr-x`. */
function formatMode({ type, mode }: RemoteFile): string {
  return typeMarks[type] + [6, 3, 0].map((shift) => rights[(mode >> shift) & 7]).join('')
}

const rights = ['---', '--x', '-w-', '-wx', 'r--', 'r-x', 'rw-', 'rwx'] as const

/** `512 B`, `1.5 KiB`. */
function formatBytes(size: number): string {
  const steps = Math.min(4, Math.floor(Math.log2(Math.max(1, size)) / 10))
  return steps === 0 ? `${size} B` : `${(size / 1024 ** steps).toFixed(1)} ${['KiB', 'MiB', 'GiB', 'TiB'][steps - 1]}`
}

const typeMarks = { file: '-', directory: 'd', link: 'l', other: '?' } as const

async function resolveLocalTarget(path: string, name: string): Promise<string> {
  const facts = await localStat(path).catch(() => undefined)
  return facts?.isDirectory() === true ? join(path, name) : path
}

/** Shows the progress of a transfer, on a terminal only. */
async function withByteProgress(context: Context, work: (progress: (bytes: number) => void) => Promise<number>): Promise<number> {
  const stopProgress = context.showProgress({ en: 'Transferring …', zh: '正在传输 …' })
  let shownAt = 0
  try {
    return await work((bytes) => {
      if (context.now() - shownAt < 1_000) return
      shownAt = context.now()
      context.printDetail({ en: `${bytes} bytes`, zh: `${bytes} 字节` })
    })
  } finally {
    stopProgress()
  }
}
