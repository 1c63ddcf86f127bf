/** The file explorer as values: a view and a key give the next view and what is to be done. It touches neither terminal nor network. */
import type { RemoteFile } from '../workbench/results.ts'
import { terminalLine } from '../terminal-text.ts'
import { width } from '../width.ts'
import { localName } from './remote-path.ts'

/** What the explorer shows and where its cursor is; a new one for every key. */
export interface View {
  readonly path: string
  readonly files: readonly RemoteFile[]
  readonly cursor: number
  /** One line under the list: what was done, what went wrong. */
  readonly message: string
  /** A question whose answer is being typed. */
  readonly question: Question | null
  /** A file's text in place of the list. */
  readonly text: { readonly title: string; readonly lines: readonly string[]; readonly top: number } | null
}

export interface Question {
  readonly kind: 'get' | 'put' | 'rename' | 'mkdir' | 'delete' | 'go'
  readonly words: string
  readonly answer: string
}

/** What the program has to do for a key; everything else is done by the new view alone. */
export type Deed =
  | { readonly kind: 'none' }
  | { readonly kind: 'quit' }
  | { readonly kind: 'list'; readonly path: string }
  | { readonly kind: 'view'; readonly file: RemoteFile }
  | { readonly kind: 'answer'; readonly question: Question; readonly file: RemoteFile | undefined }

export interface Step {
  readonly view: View
  readonly deed: Deed
}

const nothingToDo = { kind: 'none' } as const

const explorerHelp = 'Enter open · Backspace up · v view · g get · p put · m mkdir · r rename · d delete · q quit'

/** One key pressed. `page` is how many lines the list shows. */
export function press(view: View, key: string, page: number): Step {
  if (view.question) return answer(view, view.question, key)
  if (view.text) return reading(view, view.text, key, page)
  const file = view.files[view.cursor]
  switch (key) {
    case 'q':
    case '\u0003':
      return { view, deed: { kind: 'quit' } }
    case '\u001b[A':
    case 'k':
      return move(view, view.cursor - 1)
    case '\u001b[B':
    case 'j':
      return move(view, view.cursor + 1)
    case '\u001b[5~':
      return move(view, view.cursor - page)
    case '\u001b[6~':
      return move(view, view.cursor + page)
    case '\r':
    case '\u001b[C':
      if (!file) return { view, deed: nothingToDo }
      return file.type === 'file'
        ? { view, deed: { kind: 'view', file } }
        : { view, deed: { kind: 'list', path: join(view.path, file.name) } }
    case '\u007f':
    case '\u001b[D':
    case 'u':
      return { view, deed: { kind: 'list', path: parent(view.path) } }
    case 'v':
      return { view, deed: file ? { kind: 'view', file } : nothingToDo }
    case '\u000c':
      return { view, deed: { kind: 'list', path: view.path } }
    case 'g':
      return file ? ask(view, 'get', `Get ${file.name} as`, localName(file.name)) : { view, deed: nothingToDo }
    case 'p':
      return ask(view, 'put', 'Put which local file here', '')
    case 'm':
      return ask(view, 'mkdir', 'New directory', '')
    case 'r':
      return file ? ask(view, 'rename', `Rename ${file.name} to`, file.name) : { view, deed: nothingToDo }
    case 'd':
      return file ? ask(view, 'delete', `Delete ${file.name}? Type yes`, '') : { view, deed: nothingToDo }
    case '/':
      return ask(view, 'go', 'Go to', view.path)
    default:
      return { view, deed: nothingToDo }
  }
}

/** The screen as lines, none longer than `columns`. Names have been cleaned: a remote name cannot operate this terminal. */
export function draw(view: View, destination: string, columns: number, rows: number): readonly string[] {
  const body = Math.max(1, rows - 3)
  const head = `${destination}:${terminalLine(view.text?.title ?? view.path)}`
  const lines = view.text ? view.text.lines.slice(view.text.top, view.text.top + body) : listLines(view, body)
  const filled = [...lines, ...Array.from({ length: body - lines.length }, () => '')]
  const prompt = view.question
    ? `${terminalLine(view.question.words)}: ${terminalLine(view.question.answer)}_`
    : terminalLine(view.message)
  return [head, ...filled, prompt, view.text ? 'q back' : explorerHelp].map((line) => cut(line, columns))
}

/** As much of a line as has room: a longer one would break, and push the first lines off the screen. */
function cut(line: string, columns: number): string {
  if (width(line) <= columns) return line
  let shown = ''
  let room = columns
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    room -= width(segment)
    if (room < 0) break
    shown += segment
  }
  return shown
}

export function join(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

function listLines(view: View, body: number): readonly string[] {
  if (view.files.length === 0) return ['  (empty)']
  const top = Math.max(0, Math.min(view.cursor - Math.floor(body / 2), view.files.length - body))
  return view.files.slice(top, top + body).map((file, index) => {
    const mark = top + index === view.cursor ? '>' : ' '
    const size = file.type === 'directory' ? '' : String(file.size)
    return `${mark} ${size.padStart(11)}  ${terminalLine(file.name)}${file.type === 'directory' ? '/' : ''}`
  })
}

function parent(path: string): string {
  return path.replace(/\/[^/]*\/?$/, '') || '/'
}

function move(view: View, cursor: number): Step {
  const last = Math.max(0, view.files.length - 1)
  return { view: { ...view, cursor: Math.min(last, Math.max(0, cursor)), message: '' }, deed: nothingToDo }
}

function ask(view: View, kind: Question['kind'], words: string, answer: string): Step {
  return { view: { ...view, question: { kind, words, answer } }, deed: nothingToDo }
}

function answer(view: View, question: Question, key: string): Step {
  if (key === '\u001b' || key === '\u0003') return { view: { ...view, question: null, message: '' }, deed: nothingToDo }
  if (key === '\r')
    return { view: { ...view, question: null }, deed: { kind: 'answer', question, file: view.files[view.cursor] } }
  if (key === '\u0015') return { view: { ...view, question: { ...question, answer: '' } }, deed: nothingToDo }
  const typed =
    key === '\u007f' ? [...question.answer].slice(0, -1).join('') : question.answer + (/^[^\p{Cc}]+$/u.test(key) ? key : '')
  return { view: { ...view, question: { ...question, answer: typed } }, deed: nothingToDo }
}

function reading(view: View, text: NonNullable<View['text']>, key: string, page: number): Step {
  const to = (top: number): Step => {
    const last = Math.max(0, text.lines.length - page)
    return { view: { ...view, text: { ...text, top: Math.min(last, Math.max(0, top)) } }, deed: nothingToDo }
  }
  if (key === '\u001b[A' || key === 'k') return to(text.top - 1)
  if (key === '\u001b[B' || key === 'j') return to(text.top + 1)
  if (key === '\u001b[5~') return to(text.top - page)
  if (key === '\u001b[6~' || key === ' ') return to(text.top + page)
  if (key === 'q' || key === '\u001b' || key === '\u007f' || key === '\u001b[D')
    return { view: { ...view, text: null }, deed: nothingToDo }
  if (key === '\u0003') return { view, deed: { kind: 'quit' } }
  return { view, deed: nothingToDo }
}
