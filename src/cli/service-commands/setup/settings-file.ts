/** Settings files of other programs: where they are, and how they are read and replaced without losing anything. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import type { Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { SetupFile } from '../../../setup/client-setup.ts'
import { createFolder } from '../../../system/data-folder/create-folder.ts'
import { CommandFailure } from '../../failure.ts'
import type { LocalizedText } from '../../../command-table/localized-text.ts'
import type { Environment } from '../../user-config/credentials.ts'

/** A larger file is no settings file. */
const maxBytes = 4 * 1024 * 1024

export interface SettingsFile {
  /** As the program finds it. */
  readonly path: string
  /** The file itself, behind symbolic links. */
  readonly target: string
  /** Undefined if it does not exist. */
  readonly text: string | undefined
  readonly mode: number | undefined
}

/** Where the program looks for the file. Of several names, that of an existing file. */
export function locateSettingsFile(file: SetupFile, environment: Environment): string {
  const names = [file.path, ...(file.otherPaths ?? [])].map((path) => expandPath(path, file, environment))
  return names.find((path) => existsSync(path)) ?? names[0] ?? ''
}

function expandPath(
  path: string,
  { folderVariable, windowsPath }: SetupFile,
  { home, platform, variables }: Environment,
): string {
  const folder = folderVariable === undefined ? undefined : variables[folderVariable]
  if (folder !== undefined && isAbsolute(folder)) return join(folder, basename(path))
  if (platform === 'win32' && windowsPath !== undefined) {
    const appData = variables['APPDATA'] ?? join(home, 'AppData', 'Roaming')
    return windowsPath.replace('%APPDATA%', appData)
  }
  const config = variables['XDG_CONFIG_HOME']
  if (path.startsWith('~/.config/') && config !== undefined && isAbsolute(config))
    return join(config, path.slice('~/.config/'.length))
  return join(home, path.slice('~/'.length))
}

/** Throws for anything but a regular file of UTF-8, or no file at all. */
export function readSettingsFile(path: string): SettingsFile {
  const stats = lookUp(path)
  if (stats === undefined) return { path, target: findTarget(path), text: undefined, mode: undefined }
  if (!stats.isFile()) throw createFileFailure('file_unreadable', path, { en: 'it is not a file', zh: '它不是普通文件' })
  if (stats.size > maxBytes) throw createFileFailure('file_unreadable', path, { en: 'it is too large', zh: '文件过大' })
  const bytes = attempt('file_unreadable', path, () => readFileSync(path))
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { path, target: findTarget(path), text, mode: stats.mode & 0o7777 }
  } catch (error) {
    throw createFileFailure('file_unreadable', path, { en: 'it is not UTF-8', zh: '它不是 UTF-8 文本' }, error)
  }
}

/** Throws the failure that would prevent writing, before anything is written. */
export function assertWritable({ target, mode }: SettingsFile): void {
  if (mode === undefined) return
  if ((mode & 0o222) === 0) {
    throw new CommandFailure(
      'file_readonly',
      { en: `${target} is read-only; nothing was written.`, zh: `${target} 是只读文件；未写入任何内容。` },
      {
        hints: [
          {
            en: 'if another program manages it, change the settings there; otherwise allow writing, and try again',
            zh: '若该文件由其他程序管理，请在那里修改；否则请允许写入后重试',
          },
        ],
        details: { path: target },
      },
    )
  }
  attempt('file_unwritable', target, () => {
    accessSync(target, constants.W_OK)
    accessSync(dirname(target), constants.W_OK)
  })
}

/**
 * Writes the file whole or not at all, with the mode and the owner of the old one, and returns the path of the backup. A symbolic link
 * stays one. Throws `file_changed` if the file is no longer the one that was read.
 */
export function writeSettingsFile(
  file: SettingsFile,
  text: string,
  { isSecret, now }: { readonly isSecret: boolean; readonly now: number },
): string | undefined {
  const { path, target } = file
  attempt('file_unwritable', target, () => createFolder(dirname(target)))
  const old = lookUp(target)
  const backup = file.text === undefined ? undefined : `${target}.${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}.bak`
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.new`)
  const owner = { mode: old === undefined ? (isSecret ? 0o600 : undefined) : old.mode & 0o7777, old }
  try {
    attempt('file_unwritable', target, () => {
      rmSync(draft, { force: true })
      writeNewFile(draft, text, owner)
    })
    if (readSettingsFile(path).text !== file.text) {
      throw new CommandFailure(
        'file_changed',
        {
          en: `${path} was changed by another program meanwhile; nothing was written.`,
          zh: `${path} 同时被其他程序修改；未写入任何内容。`,
        },
        { exit: 'tryAgain', hints: [{ en: 'run the command again', zh: '请重新运行该命令' }] },
      )
    }
    attempt('file_unwritable', target, () => {
      if (backup !== undefined && file.text !== undefined) writeNewFile(backup, file.text, owner)
      renameSync(draft, target)
    })
  } finally {
    rmSync(draft, { force: true })
  }
  return backup
}

function writeNewFile(
  path: string,
  text: string,
  { mode, old }: { readonly mode: number | undefined; readonly old: Stats | undefined },
): void {
  const file = openSync(path, 'wx', mode ?? 0o666)
  try {
    // Only root may give a file to another owner.
    if (old !== undefined && process.getuid?.() === 0) fchownSync(file, old.uid, old.gid)
    // The mask of the process does not apply to a mode that is kept.
    if (mode !== undefined) fchmodSync(file, mode)
    const bytes = Buffer.from(text)
    // A nearly full disk accepts a part of the bytes without an error.
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function lookUp(path: string): Stats | undefined {
  return attempt('file_unreadable', path, () => statSync(path, { throwIfNoEntry: false }))
}

function findTarget(path: string): string {
  return attempt('file_unreadable', path, () => {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path
    try {
      return realpathSync(path)
    } catch (error) {
      throw createFileFailure(
        'file_unreadable',
        path,
        { en: 'it is a link to a file that does not exist', zh: '它是一个指向不存在文件的链接' },
        error,
      )
    }
  })
}

function attempt<T>(code: 'file_unreadable' | 'file_unwritable', path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw createFileFailure(code, path, message, error)
  }
}

function createFileFailure(
  code: 'file_unreadable' | 'file_unwritable',
  path: string,
  reason: LocalizedText,
  cause?: unknown,
): CommandFailure {
  const { en, zh } = typeof reason === 'string' ? { en: reason, zh: reason } : reason
  const text =
    code === 'file_unreadable'
      ? { en: `${path} cannot be read: ${en}.`, zh: `无法读取 ${path}：${zh}。` }
      : { en: `${path} cannot be written: ${en}.`, zh: `无法写入 ${path}：${zh}。` }
  return new CommandFailure(code, text, { cause, details: { path } })
}
