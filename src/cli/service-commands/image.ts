/** Creates images with the image product and saves them to files, from the links in the answer. */
import { accessSync, closeSync, constants, existsSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CommandHandler } from '../command.ts'
import type { Context, OutputSink } from '../context.ts'
import { CommandFailure, createUnwritableFailure } from '../failure.ts'
import { formatHyperlink } from '../terminal/hyperlink.ts'
import { sanitizeLine } from '../terminal/sanitize-text.ts'
import { requestTurn } from './chat-session/chat-turn.ts'
import type { TurnResult } from './chat-session/chat-turn.ts'
import { printTurnFooter } from './chat-session/turn-footer.ts'
import { downloadImage } from './client/download-image.ts'
import { requireCredential, readSite } from './client/site.ts'
import type { Credential, Site } from './client/site.ts'

export const run: CommandHandler = async (context, args, options) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'any')
  const model = options.getText('model') ?? `${site.brand}-img`
  const outputPath = options.getText('output')
  const force = options.getFlag('force')
  // Checked before the turn is charged.
  if (outputPath !== undefined && existsSync(outputPath) && !force) throw createExistsFailure(outputPath)
  assertWritable(outputPath)
  const { files, links, turn } = await createImages(
    context,
    { site, credential, model, wanted: outputPath, force },
    args.getList('prompt').join(' '),
  )
  context.printResult({ files, links, model: turn.model, request_id: turn.request_id }, () => formatSavedFiles(context, files))
  await printTurnFooter(context, { site, credential }, turn)
}

interface ImageRequest {
  readonly site: Site
  readonly credential: Credential
  readonly model: string
  /** The name of the file; undefined for one with the time. */
  readonly wanted?: string | undefined
  readonly force?: boolean
}

interface SavedImages {
  readonly files: readonly { readonly file: string; readonly bytes: number; readonly type: string }[]
  readonly links: readonly string[]
  readonly turn: TurnResult
}

/** Runs one turn of the image product and saves the images of its answer. */
export async function createImages(
  context: Context,
  { site, credential, model, wanted, force = false }: ImageRequest,
  prompt: string,
  signal?: AbortSignal,
): Promise<SavedImages> {
  assertWritable(wanted)
  const stopProgress = context.showProgress({ en: 'Drawing …', zh: '正在生成图片 …' })
  const messages = [{ role: 'user', content: prompt }] as const
  const turn = await requestTurn(context, site, credential, { model, messages, ...(signal && { signal }) }).finally(stopProgress)
  const links = findImageLinks(turn.text)
  if (links.length === 0) {
    throw new CommandFailure(
      'no_picture',
      {
        en: `The answer contains no image: ${sanitizeLine(turn.text).slice(0, 300)}`,
        zh: `回答中没有图片：${sanitizeLine(turn.text).slice(0, 300)}`,
      },
      { details: { requestId: turn.request_id } },
    )
  }
  const files: { readonly file: string; readonly bytes: number; readonly type: string }[] = []
  const defaultName = `image-${new Date(context.now()).toISOString().slice(0, 19).replaceAll(/\D/g, '')}`
  try {
    for (const [index, link] of links.entries()) {
      const image = await downloadImage(context, link)
      const file =
        wanted === undefined
          ? findFreeName(`${defaultName}${image.extension}`)
          : links.length === 1
            ? wanted
            : toNumberedName(wanted, index + 1)
      saveFile(file, image.bytes, force)
      files.push({ file, bytes: image.bytes.length, type: image.type })
    }
  } catch (error) {
    throw error instanceof CommandFailure ? addImageLinks(error, links, turn.request_id) : error
  }
  return { files, links, turn }
}

export function formatSavedFiles(context: Context, files: SavedImages['files']): string {
  return files.map(({ file }) => context.localize(describeSavedFile(context.stdout, file))).join('\n')
}

/** A click on the name opens the file, where the terminal has links. */
export function describeSavedFile(
  { hyperlinks }: Pick<OutputSink, 'hyperlinks'>,
  file: string,
): { readonly en: string; readonly zh: string } {
  const name = sanitizeLine(file)
  const shownName = hyperlinks ? formatHyperlink(pathToFileURL(file).href, name) : name
  return { en: `Saved ${shownName}`, zh: `已保存 ${shownName}` }
}

/** The addresses of Markdown images, in order, without duplicates. */
export function findImageLinks(markdown: string): readonly string[] {
  const links = [...markdown.matchAll(/!\[[^\]]*\]\(\s*<?([^\s)>]+)>?[^)]*\)/g)].map((match) => match[1] ?? '')
  return [...new Set(links)].filter((link) => /^https?:\/\//.test(link) && URL.canParse(link))
}

/** The images of an answer have one time, and those of another command in the same second are other files. */
function findFreeName(name: string): string {
  let nth = 1
  while (existsSync(toNumberedName(name, nth))) nth++
  return toNumberedName(name, nth)
}

/** `sunset.png`, `sunset-2.png` … */
function toNumberedName(name: string, nth: number): string {
  if (nth === 1) return name
  const end = extname(name)
  return `${name.slice(0, name.length - end.length)}-${nth}${end}`
}

/** The image exists and was charged, so the failure must contain its address. */
function addImageLinks(
  { code, text, exit, hints, ref, details, cause }: CommandFailure,
  links: readonly string[],
  requestId: string,
): CommandFailure {
  const at = links.map((link) => ({
    en: `the image stays available for some days: ${sanitizeLine(link)}`,
    zh: `图片在数日内可从此处获取：${sanitizeLine(link)}`,
  }))
  return new CommandFailure(code, text, {
    exit,
    hints: [...hints, ...at],
    ...(ref && { ref }),
    details: { ...details, links, requestId },
    cause,
  })
}

function assertWritable(wanted: string | undefined): void {
  const folder = wanted === undefined ? '.' : dirname(wanted)
  try {
    accessSync(folder, constants.W_OK)
    // The rename would replace a device or a pipe for all its users.
    if (wanted !== undefined && statSync(wanted, { throwIfNoEntry: false })?.isFile() === false)
      throw new Error('it is there, and is no file')
  } catch (error) {
    throw createUnwritableFailure(wanted ?? folder, error)
  }
}

/** Writes the file whole or not at all, and replaces an existing file only with `--force`. */
function saveFile(path: string, bytes: Uint8Array, force: boolean): void {
  if (!force && existsSync(path)) throw createExistsFailure(path)
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
    throw createUnwritableFailure(path, error)
  }
}

function createExistsFailure(path: string): CommandFailure {
  return new CommandFailure(
    'file_exists',
    { en: `${path} already exists.`, zh: `${path} 已存在。` },
    {
      hints: [{ en: 'another name: --output <file>; to replace it: --force', zh: '换个文件名：--output <文件>；覆盖：--force' }],
    },
  )
}
