/** The file explorer as values: a view and a key give the next view and an action. It uses neither terminal nor network. */
import type { RemoteFile } from '../../workbench/protocol/results.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { measureWidth } from '../../../system/terminal/measure-width.ts'
import { toLocalName } from './remote-path.ts'

/** The explorer's content and cursor; every key creates a new view. */
export interface ExplorerView {
  readonly path: string
  readonly files: readonly RemoteFile[]
  readonly cursor: number
  /** One message line under the list. */
  readonly message: string
  /** A question that the user is answering. */
  readonly question: Question | null
  /** A file's text in place of the list. */
  readonly text: { readonly title: string; readonly lines: readonly string[]; readonly top: number } | null
}

export interface Question {
  readonly kind: 'get' | 'put' | 'rename' | 'mkdir' | 'delete' | 'go'
  readonly prompt: string
  readonly answer: string
}

/** The action that the program performs for a key; the new view covers everything else. */
export type ExplorerAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'quit' }
  | { readonly kind: 'list'; readonly path: string }
  | { readonly kind: 'view'; readonly file: RemoteFile }
  | { readonly kind: 'answer'; readonly question: Question; readonly file: RemoteFile | undefined }

interface ExplorerUpdate {
  readonly view: ExplorerView
  readonly action: ExplorerAction
}

const noAction = { kind: 'none' } as const

const explorerHelp = 'Enter open · Backspace up · v view · g get · p put · m mkdir · r rename · d delete · q quit'

/** Applies one key press. `page` is the number of visible list lines. */
export function handleKey(view: ExplorerView, key: string, page: number): ExplorerUpdate {
  if (view.question) return editAnswer(view, view.question, key)
  if (view.text) return handleTextKey(view, view.text, key, page)
  const file = view.files[view.cursor]
  switch (key) {
    case 'q':
    case '\u0003':
      return { view, action: { kind: 'quit' } }
    case '\u001b[A':
    case 'k':
      return moveCursor(view, view.cursor - 1)
    case '\u001b[B':
    case 'j':
      return moveCursor(view, view.cursor + 1)
    case '\u001b[5~':
      return moveCursor(view, view.cursor - page)
    case '\u001b[6~':
      return moveCursor(view, view.cursor + page)
    case '\r':
    case '\u001b[C':
      if (!file) return { view, action: noAction }
      return file.type === 'file'
        ? { view, action: { kind: 'view', file } }
        : { view, action: { kind: 'list', path: joinPath(view.path, file.name) } }
    case '\u007f':
    case '\u001b[D':
    case 'u':
      return { view, action: { kind: 'list', path: getParentPath(view.path) } }
    case 'v':
      return { view, action: file ? { kind: 'view', file } : noAction }
    case '\u000c':
      return { view, action: { kind: 'list', path: view.path } }
    case 'g':
      return file ? askQuestion(view, 'get', `Get ${file.name} as`, toLocalName(file.name)) : { view, action: noAction }
    case 'p':
      return askQuestion(view, 'put', 'Put which local file here', '')
    case 'm':
      return askQuestion(view, 'mkdir', 'New directory', '')
    case 'r':
      return file ? askQuestion(view, 'rename', `Rename ${file.name} to`, file.name) : { view, action: noAction }
    case 'd':
      return file ? askQuestion(view, 'delete', `Delete ${file.name}? Type yes`, '') : { view, action: noAction }
    case '/':
      return askQuestion(view, 'go', 'Go to', view.path)
    default:
      return { view, action: noAction }
  }
}

/** The screen as lines of at most `columns`. Names are sanitized: a remote name cannot control this terminal. */
export function renderScreen(view: ExplorerView, destination: string, columns: number, rows: number): readonly string[] {
  const body = Math.max(1, rows - 3)
  const head = `${destination}:${sanitizeLine(view.text?.title ?? view.path)}`
  const lines = view.text ? view.text.lines.slice(view.text.top, view.text.top + body) : renderList(view, body)
  const bodyLines = [...lines, ...Array.from({ length: body - lines.length }, () => '')]
  const prompt = view.question
    ? `${sanitizeLine(view.question.prompt)}: ${sanitizeLine(view.question.answer)}_`
    : sanitizeLine(view.message)
  return [head, ...bodyLines, prompt, view.text ? 'q back' : explorerHelp].map((line) => truncateLine(line, columns))
}

/** Cuts a line to the screen's width: a longer one would wrap and push the first lines off the screen. */
function truncateLine(line: string, columns: number): string {
  if (measureWidth(line) <= columns) return line
  let shownText = ''
  let room = columns
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    room -= measureWidth(segment)
    if (room < 0) break
    shownText += segment
  }
  return shownText
}

export function joinPath(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

function renderList(view: ExplorerView, body: number): readonly string[] {
  if (view.files.length === 0) return ['  (empty)']
  const top = Math.max(0, Math.min(view.cursor - Math.floor(body / 2), view.files.length - body))
  return view.files.slice(top, top + body).map((file, index) => {
    const mark = top + index === view.cursor ? '>' : ' '
    const size = file.type === 'directory' ? '' : String(file.size)
    return `${mark} ${size.padStart(11)}  ${sanitizeLine(file.name)}${file.type === 'directory' ? '/' : ''}`
  })
}

function getParentPath(path: string): string {
  return path.replace(/\/[^/]*\/?$/, '') || '/'
}

function moveCursor(view: ExplorerView, cursor: number): ExplorerUpdate {
  const last = Math.max(0, view.files.length - 1)
  return { view: { ...view, cursor: Math.min(last, Math.max(0, cursor)), message: '' }, action: noAction }
}

function askQuestion(view: ExplorerView, kind: Question['kind'], prompt: string, answer: string): ExplorerUpdate {
  return { view: { ...view, question: { kind, prompt, answer } }, action: noAction }
}

function editAnswer(view: ExplorerView, question: Question, key: string): ExplorerUpdate {
  if (key === '\u001b' || key === '\u0003') return { view: { ...view, question: null, message: '' }, action: noAction }
  if (key === '\r')
    return { view: { ...view, question: null }, action: { kind: 'answer', question, file: view.files[view.cursor] } }
  if (key === '\u0015') return { view: { ...view, question: { ...question, answer: '' } }, action: noAction }
  const newAnswer =
    key === '\u007f' ? [...question.answer].slice(0, -1).join('') : question.answer + (/^[^\p{Cc}]+$/u.test(key) ? key : '')
  return { view: { ...view, question: { ...question, answer: newAnswer } }, action: noAction }
}

function handleTextKey(view: ExplorerView, text: NonNullable<ExplorerView['text']>, key: string, page: number): ExplorerUpdate {
  const to = (top: number): ExplorerUpdate => {
    const last = Math.max(0, text.lines.length - page)
    return { view: { ...view, text: { ...text, top: Math.min(last, Math.max(0, top)) } }, action: noAction }
  }
  if (key === '\u001b[A' || key === 'k') return to(text.top - 1)
  if (key === '\u001b[B' || key === 'j') return to(text.top + 1)
  if (key === '\u001b[5~') return to(text.top - page)
  if (key === '\u001b[6~' || key === ' ') return to(text.top + page)
  if (key === 'q' || key === '\u001b' || key === '\u007f' || key === '\u001b[D')
    return { view: { ...view, text: null }, action: noAction }
  if (key === '\u0003') return { view, action: { kind: 'quit' } }
  return { view, action: noAction }
}
