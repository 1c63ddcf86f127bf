/** A failure whose words come from outside. */
import t from 'tap'
import { CommandFailure } from '../../src/cli/failure.ts'
import { showFailure } from '../../src/cli/show-failure.ts'

t.test('the words of a page or a remote machine cannot operate the terminal', async (t) => {
  const title = '\u001b]0;taken over\u0007'
  const failure = new CommandFailure('remote_io', `one${title}\ntwo\u009b2J`, {
    hints: [`three${title}`, { en: 'four\r', zh: '四\r' }],
  })
  let shown = ''
  const stderr = { styled: false, write: (text: string) => void (shown += text) }
  const code = showFailure(failure, { stdout: { write: () => {} }, stderr, json: false }, 'zh')
  t.equal(code, 1)
  t.equal(shown, '错误: one\ntwo\n  three\n  四\n')
})
