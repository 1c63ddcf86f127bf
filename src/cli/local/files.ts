/** The commands of `svc files`: the files of the other end of an ssh connection that the workbench holds. */
import { stat as localStat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { toTable } from '../table.ts'
import { terminalLine, TerminalTextFilter } from '../terminal-text.ts'
import type { RemoteFile } from '../workbench/results.ts'
import { pickSsh } from './pick.ts'
import { baseName, joinRemote, remotePlace } from './remote-path.ts'
import { withWorkbench } from './session.ts'
import { behindLinks, download, upload } from './transfer.ts'

export const list: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('files.list', await remotePlace(client, args.need('place')))
    context.result(result, () => fileTable(result.files))
  })

export const stat: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const result = await client.call('files.stat', await remotePlace(client, args.need('place')))
    context.result(result, () => fileTable([result.file]))
  })

export const cat: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const place = await remotePlace(client, args.need('place'))
    const decoder = new TextDecoder()
    const filter = new TerminalTextFilter()
    let text = ''
    let offset = 0
    for (let end = false; !end && !context.signal.aborted;) {
      const piece = await client.call('files.read', { ...place, offset })
      offset += piece.bytes
      end = piece.end
      const data = Buffer.from(piece.data, 'base64')
      // A pipe gets the file as it is; only a terminal could be harmed by it.
      if (!context.json && !context.stdout.isTerminal) {
        context.stdout.write(data)
        continue
      }
      const words = decoder.decode(data, { stream: !end })
      if (context.json) text += words
      else context.stdout.write(filter.push(words))
    }
    if (context.json) context.result({ text }, () => '')
  })

export const get: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const from = await remotePlace(client, args.need('place'))
    const to = await intoFolder(resolve(args.text('file') ?? baseName(from.path)), baseName(from.path))
    const bytes = await counting(context, (progress) => download(client, from, to, progress))
    context.result({ path: to, bytes }, () => `${terminalLine(to)}  ${bytes}`)
  })

export const put: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const from = resolve(args.need('file'))
    const place = await remotePlace(client, args.need('place'))
    const into = (await behindLinks(client, place)).type === 'directory' || args.need('place').endsWith('/')
    const to = into ? { ...place, path: joinRemote(place.path, baseName(from)) } : place
    const facts = await localStat(from).catch((cause: unknown) => {
      throw new CommandFailure(
        'not_found',
        { en: `There is no file ${from}.`, zh: `文件不存在:${from}。` },
        { exit: 'notFound', cause },
      )
    })
    if (!facts.isFile()) throw usageFailure({ en: `${from} is not a file.`, zh: `${from} 不是文件。` })
    const stop = new AbortController()
    // The half file there has to go before the connection does. Who presses Ctrl-C once more does not wait for that.
    const release = context.interrupted(() => {
      release()
      stop.abort()
    })
    const bytes = await counting(context, (progress) => upload(client, from, to, progress, stop.signal)).finally(release)
    context.result({ path: to.path, bytes }, () => `${terminalLine(to.path)}  ${bytes}`)
  })

export const mkdir: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    context.result(await client.call('files.mkdir', await remotePlace(client, args.need('place'))), () => '')
  })

export const remove: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    context.result(await client.call('files.remove', await remotePlace(client, args.need('place'))), () => '')
  })

export const move: Run = (context, args, options) =>
  withWorkbench(context, async (client) => {
    const place = await remotePlace(client, args.need('place'))
    const result = await client.call('files.rename', { ...place, to: args.need('to'), replace: options.flag('replace') })
    context.result(result, () => '')
  })

export const open: Run = (context, args) =>
  withWorkbench(context, async (client) => {
    const [word = '', ...rest] = args.need('ssh').split(':')
    const path = rest.join(':')
    const result = await client.call('files.open', { sshId: await pickSsh(client, word), ...(path === '' ? {} : { path }) })
    context.result(result, () => result.pane.id)
  })

function fileTable(files: readonly RemoteFile[]): string {
  return files.length === 0
    ? ''
    : toTable(files, [
        { heading: 'MODE', cell: ({ type, mode }) => `${markOf[type]}${mode.toString(8).padStart(4, '0')}` },
        { heading: 'SIZE', align: 'right', cell: ({ size }) => String(size) },
        { heading: 'MODIFIED', cell: ({ modified }) => new Date(modified * 1_000).toISOString().slice(0, 19) },
        { heading: 'NAME', cell: ({ name, type }) => `${terminalLine(name)}${type === 'directory' ? '/' : ''}` },
      ])
}

const markOf = { file: '-', directory: 'd', link: 'l', other: '?' } as const

async function intoFolder(path: string, name: string): Promise<string> {
  const facts = await localStat(path).catch(() => undefined)
  return facts?.isDirectory() === true ? join(path, name) : path
}

/** Shows how far a transfer is, on a terminal alone. */
async function counting(context: Context, work: (progress: (bytes: number) => void) => Promise<number>): Promise<number> {
  const done = context.progress({ en: 'transferring…', zh: '正在传输…' })
  let shownAt = 0
  try {
    return await work((bytes) => {
      if (context.now() - shownAt < 1_000) return
      shownAt = context.now()
      context.detail({ en: `${bytes} bytes`, zh: `${bytes} 字节` })
    })
  } finally {
    done()
  }
}
