/** The file explorer without a terminal: keys in, views and deeds out. */
import t from 'tap'
import type { View } from '../../../src/cli/local/explorer.ts'
import { draw, press } from '../../../src/cli/local/explorer.ts'
import { width } from '../../../src/cli/width.ts'
import type { RemoteFile } from '../../../src/cli/workbench/results.ts'

const file = (name: string, type: RemoteFile['type'] = 'file'): RemoteFile => ({ name, type, size: 5, mode: 0o644, modified: 0 })
const view: View = {
  path: '/srv/data',
  files: [file('folder', 'directory'), file('evil\u001b]0;x\u0007\nname'), file('last')],
  cursor: 0,
  message: '',
  question: null,
  text: null,
}
const keys = (start: View, ...pressed: readonly string[]): View => pressed.reduce((now, key) => press(now, key, 5).view, start)

t.test('the cursor stays within the list', (t) => {
  t.equal(keys(view, '\u001b[A').cursor, 0)
  t.equal(keys(view, 'j', 'j', 'j', 'j').cursor, 2)
  t.equal(keys(view, '\u001b[6~', '\u001b[5~').cursor, 0)
  t.equal(keys({ ...view, files: [] }, 'j').cursor, 0)
  t.end()
})

t.test('Enter goes into a directory and shows a file; Backspace goes up, and not above the root', (t) => {
  t.match(press(view, '\r', 5).deed, { kind: 'list', path: '/srv/data/folder' })
  t.match(press(keys(view, 'j', 'j'), '\r', 5).deed, { kind: 'view', file: { name: 'last' } })
  t.match(press(view, '\u007f', 5).deed, { kind: 'list', path: '/srv' })
  t.match(press({ ...view, path: '/srv' }, 'u', 5).deed, { kind: 'list', path: '/' })
  t.match(press({ ...view, path: '/' }, 'u', 5).deed, { kind: 'list', path: '/' })
  t.match(press({ ...view, path: '/' }, '\r', 5).deed, { kind: 'list', path: '/folder' })
  t.match(press({ ...view, files: [] }, '\r', 5).deed, { kind: 'none' })
  t.end()
})

t.test('a remote name is proposed as one name in this folder', (t) => {
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
    t.equal(press({ ...view, files: [file(name)] }, 'g', 5).view.question?.answer, proposed, JSON.stringify(name))
  t.end()
})

t.test('a question takes the keys until it is answered or left', (t) => {
  const asked = keys(view, 'j', 'j', 'd')
  t.match(asked.question, { kind: 'delete', words: /Delete last/ })
  t.match(press(keys(asked, 'y', 'e', 's'), '\r', 5).deed, {
    kind: 'answer',
    question: { kind: 'delete', answer: 'yes' },
    file: { name: 'last' },
  })
  t.equal(keys(asked, 'q').question?.answer, 'q', 'a letter is an answer, not a command')
  t.equal(keys(asked, '\u001b').question, null)
  t.match(keys(view, 'r', '\u0015', 'a', '😀', '\u007f', 'b').question, { answer: 'ab' })
  t.equal(press(view, 'q', 5).deed.kind, 'quit')
  t.end()
})

t.test('what is drawn fits the screen and holds no control character of a remote name', (t) => {
  for (const now of [
    view,
    keys(view, 'r'),
    { ...view, text: { title: '/x\u001b[1m', lines: ['one', 'two'], top: 0 } },
    { ...view, message: 'a\u0007b' },
    { ...view, files: [file('会议纪要会议纪要会议纪要会议纪要'), file('👩‍👩‍👧'.repeat(20))] },
  ]) {
    const lines = draw(now, 'box', 30, 8)
    t.equal(lines.length, 8)
    t.ok(lines.every((line) => width(line) <= 30))
    t.notMatch(lines.join(''), /\p{Cc}/u)
  }
  t.match(draw(view, 'box', 80, 8)[1], /^> +folder\/$/)
  const long = { ...view, files: Array.from({ length: 100 }, (_, n) => file(`f${n}`)), cursor: 90 }
  t.ok(
    draw(long, 'box', 80, 12).some((line) => line.includes('> ') && line.includes('f90')),
    'the cursor is in view',
  )
  t.end()
})
