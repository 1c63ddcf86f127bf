/** A failure whose text comes from outside. */
import t from 'tap'
import { CommandFailure } from '../../../src/cli/failure.ts'
import { showFailure } from '../../../src/cli/show-failure.ts'

t.test('text of a page or a remote machine cannot control the terminal', async (t) => {
  const title = '\u001b]0;taken over\u0007'
  const failure = new CommandFailure('remote_io', `one${title}\ntwo\u009b2J`, {
    hints: [`three${title}`, { en: 'four\r', zh: '四\r' }],
  })
  let shown = ''
  const stderr = { styled: false, isTerminal: false, columns: 80, write: (text: string) => void (shown += text) }
  const code = showFailure(failure, { stdout: { write: () => {} }, stderr, json: false }, 'zh')
  t.equal(code, 1)
  t.equal(shown, '错误：one\ntwo\n  three\n  四\n')
})

t.test('an address in a hint is a link of a terminal that has them, without the punctuation of its sentence', async (t) => {
  const failure = new CommandFailure('quota_exceeded', 'See https://x.example/a?b=1.', { hints: ['(https://x.example/docs#c)'] })
  let shown = ''
  const stderr = { styled: false, isTerminal: true, hyperlinks: true, columns: 80, write: (text: string) => void (shown += text) }
  showFailure(failure, { stdout: { write: () => {} }, stderr, json: false }, 'en')
  const link = (address: string) => `\u001b]8;;${address}\u001b\\${address}\u001b]8;;\u001b\\`
  t.equal(shown, `error: See ${link('https://x.example/a?b=1')}.\n  (${link('https://x.example/docs#c')})\n`)
})
