/** The file explorer without a terminal: keys in, views and actions out. */
import t from 'tap'
import type { ExplorerView } from '../../../../../src/cli/workbench-commands/remote-files/explorer-view.ts'
import { renderScreen, handleKey } from '../../../../../src/cli/workbench-commands/remote-files/explorer-view.ts'
import { measureWidth } from '../../../../../src/system/terminal/measure-width.ts'
import type { RemoteFile } from '../../../../../src/cli/workbench/protocol/results.ts'

const file = (name: string, type: RemoteFile['type'] = 'file'): RemoteFile => ({ name, type, size: 5, mode: 0o644, modified: 0 })
const view: ExplorerView = {
  path: '/srv/data',
  files: [file('folder', 'directory'), file('evil\u001b]0;x\u0007\nname'), file('last')],
  cursor: 0,
  message: '',
  question: null,
  text: null,
}
const keys = (start: ExplorerView, ...pressed: readonly string[]): ExplorerView =>
  pressed.reduce((now, key) => handleKey(now, key, 5).view, start)

t.test('the cursor stays within the list', (t) => {
  t.equal(keys(view, '\u001b[A').cursor, 0)
  t.equal(keys(view, 'j', 'j', 'j', 'j').cursor, 2)
  t.equal(keys(view, '\u001b[6~', '\u001b[5~').cursor, 0)
  t.equal(keys({ ...view, files: [] }, 'j').cursor, 0)
  t.end()
})

t.test('Enter opens a directory or shows a file; Backspace goes up, but not above the root', (t) => {
  t.match(handleKey(view, '\r', 5).action, { kind: 'list', path: '/srv/data/folder' })
  t.match(handleKey(keys(view, 'j', 'j'), '\r', 5).action, { kind: 'view', file: { name: 'last' } })
  t.match(handleKey(view, '\u007f', 5).action, { kind: 'list', path: '/srv' })
  t.match(handleKey({ ...view, path: '/srv' }, 'u', 5).action, { kind: 'list', path: '/' })
  t.match(handleKey({ ...view, path: '/' }, 'u', 5).action, { kind: 'list', path: '/' })
  t.match(handleKey({ ...view, path: '/' }, '\r', 5).action, { kind: 'list', path: '/folder' })
  t.match(handleKey({ ...view, files: [] }, '\r', 5).action, { kind: 'none' })
  t.end()
})

t.test('a remote name becomes one local file name in this folder', (t) => {
  for (const [name, proposed] of [
    ['notes.txt', 'notes.txt'],
    ['../../.ssh/authorized_keys', 'authorized_keys'],
    ['/etc/passwd', 'passwd'],
    ['..\\..\\x.bat', 'x.bat'],
    ['..', 'download'],
    ['.', 'download'],
    ['a/', 'download'],
    ['evil\u001b]0;x\u0007\n\u202ename', 'evil]0;xname'],
    ['.profile', '.profile'],
  ] as const)
    t.equal(handleKey({ ...view, files: [file(name)] }, 'g', 5).view.question?.answer, proposed, JSON.stringify(name))
  t.end()
})

t.test('a question receives the keys until it is answered or cancelled', (t) => {
  const asked = keys(view, 'j', 'j', 'd')
  t.match(asked.question, { kind: 'delete', prompt: /Delete last/ })
  t.match(handleKey(keys(asked, 'y', 'e', 's'), '\r', 5).action, {
    kind: 'answer',
    question: { kind: 'delete', answer: 'yes' },
    file: { name: 'last' },
  })
  t.equal(keys(asked, 'q').question?.answer, 'q', 'a letter is an answer, not a command')
  t.equal(keys(asked, '\u001b').question, null)
  t.match(keys(view, 'r', '\u0015', 'a', '😀', '\u007f', 'b').question, { answer: 'ab' })
  t.equal(handleKey(view, 'q', 5).action.kind, 'quit')
  t.end()
})

t.test('the screen fits and contains no control character of a remote name', (t) => {
  for (const now of [
    view,
    keys(view, 'r'),
    { ...view, text: { title: '/x\u001b[1m', lines: ['one', 'two'], top: 0 } },
    { ...view, message: 'a\u0007b' },
    { ...view, files: [file('会议纪要会议纪要会议纪要会议纪要'), file('👩‍👩‍👧'.repeat(20))] },
  ]) {
    const lines = renderScreen(now, 'box', 30, 8)
    t.equal(lines.length, 8)
    t.ok(lines.every((line) => measureWidth(line) <= 30))
    t.notMatch(lines.join(''), /\p{Cc}/u)
  }
  t.match(renderScreen(view, 'box', 80, 8)[1], /^> +folder\/$/)
  const long = { ...view, files: Array.from({ length: 100 }, (_, n) => file(`f${n}`)), cursor: 90 }
  t.ok(
    renderScreen(long, 'box', 80, 12).some((line) => line.includes('> ') && line.includes('f90')),
    'the cursor is in view',
  )
  t.end()
})
