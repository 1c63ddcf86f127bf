/** A picture from the image product, saved to a file; the answer's links are what the pictures are fetched from. */
import { accessSync, closeSync, constants, existsSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import { wholeTurn } from './chat-turn.ts'
import { fetchPicture } from './picture.ts'
import { needCredential, readSite } from './site.ts'

export const run: Run = async (context, args, options) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const model = options.text('model') ?? `${site.brand}-img`
  const wanted = options.text('output')
  const force = options.flag('force')
  // Asked before it costs anything.
  if (wanted !== undefined && existsSync(wanted) && !force) throw exists(wanted)
  mustBeWritable(wanted)
  const prompt = args.list('prompt').join(' ')
  const done = context.progress({ en: 'Drawing …', zh: '正在生成图片 …' })
  const turn = await wholeTurn(context, site, credential, { model, messages: [{ role: 'user', content: prompt }] }).finally(done)
  const links = pictureLinks(turn.text)
  if (links.length === 0) {
    throw new CommandFailure(
      'no_picture',
      {
        en: `The answer holds no picture: ${terminalLine(turn.text).slice(0, 300)}`,
        zh: `回答中没有图片:${terminalLine(turn.text).slice(0, 300)}`,
      },
      { details: { requestId: turn.request_id } },
    )
  }
  const files: { readonly file: string; readonly bytes: number; readonly type: string }[] = []
  try {
    for (const [index, link] of links.entries()) {
      const picture = await fetchPicture(context, link)
      const file = fileName(context, wanted, index, links.length, picture.extension)
      save(file, picture.bytes, force)
      files.push({ file, bytes: picture.bytes.length, type: picture.type })
    }
  } catch (error) {
    throw error instanceof CommandFailure ? stillThere(error, links, turn.request_id) : error
  }
  context.result({ files, links, model: turn.model, request_id: turn.request_id }, () =>
    files.map(({ file }) => context.say({ en: `Saved ${terminalText(file)}`, zh: `已保存 ${terminalText(file)}` })).join('\n'),
  )
}

/** The addresses of Markdown images, in order, each once. */
export function pictureLinks(markdown: string): readonly string[] {
  const links = [...markdown.matchAll(/!\[[^\]]*\]\(\s*<?([^\s)>]+)>?[^)]*\)/g)].map((match) => match[1] ?? '')
  return [...new Set(links)].filter((link) => /^https?:\/\//.test(link) && URL.canParse(link))
}

/** `sunset.png`, `sunset-2.png` …; without a wish `image-<time>.png`. */
function fileName(context: Context, wanted: string | undefined, index: number, count: number, extension: string): string {
  if (wanted !== undefined) return count === 1 ? wanted : numbered(wanted, index + 1)
  const stamp = new Date(context.now()).toISOString().slice(0, 19).replaceAll(/\D/g, '')
  const name = `image-${stamp}${extension}`
  // Two in a second are two files.
  let nth = 1
  while (existsSync(numbered(name, nth))) nth++
  return numbered(name, nth)
}

function numbered(name: string, nth: number): string {
  if (nth === 1) return name
  const end = extname(name)
  return `${name.slice(0, name.length - end.length)}-${nth}${end}`
}

/** It has been painted and charged: where it is must be told. */
function stillThere(
  { code, text, exit, hints, ref, details, cause }: CommandFailure,
  links: readonly string[],
  requestId: string,
): CommandFailure {
  const at = links.map((link) => ({
    en: `the picture is there for some days: ${terminalLine(link)}`,
    zh: `图片在数日内可从此处获取:${terminalLine(link)}`,
  }))
  return new CommandFailure(code, text, {
    exit,
    hints: [...hints, ...at],
    ...(ref && { ref }),
    details: { ...details, links, requestId },
    cause,
  })
}

function mustBeWritable(wanted: string | undefined): void {
  const folder = wanted === undefined ? '.' : dirname(wanted)
  try {
    accessSync(folder, constants.W_OK)
    // The picture takes its place: a device or a pipe would be gone for everybody.
    if (wanted !== undefined && statSync(wanted, { throwIfNoEntry: false })?.isFile() === false)
      throw new Error('it is there, and is no file')
  } catch (error) {
    throw unwritable(wanted ?? folder, error)
  }
}

/** Whole or not at all, and never over something that is there unless it was allowed. */
function save(path: string, bytes: Uint8Array, force: boolean): void {
  if (!force && existsSync(path)) throw exists(path)
  const temporary = `${path}.${process.pid}.part`
  try {
    const file = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644)
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw unwritable(path, error)
  }
}

function unwritable(path: string, error: unknown): CommandFailure {
  const why = error instanceof Error ? error.message : String(error)
  return new CommandFailure(
    'file_unwritable',
    { en: `Cannot write ${path}: ${why}`, zh: `无法写入 ${path}:${why}` },
    { cause: error },
  )
}

function exists(path: string): CommandFailure {
  return new CommandFailure(
    'file_exists',
    { en: `${path} is there already.`, zh: `${path} 已存在。` },
    { hints: [{ en: 'another name: --output <file>; to replace it: --force', zh: '换个文件名:--output <文件>;覆盖:--force' }] },
  )
}
