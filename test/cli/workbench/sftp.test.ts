/** The file protocol against servers that misbehave. */
import t from 'tap'
import { Sftp } from '../../../src/cli/workbench/ssh/sftp.ts'

t.test('a server that falls silent is given up: whoever waits is told, and the session is over', async (t) => {
  const greeting = String.raw`printf '\000\000\000\005\002\000\000\000\003'; `
  for (const [name, greets] of [
    ['before it greets', ''],
    ['over a question', greeting],
  ] as const) {
    let over = 0
    const server = ['sh', '-c', `${greets}exec cat > /dev/null`]
    const sftp = new Sftp(server, { PATH: process.env['PATH'] ?? '' }, () => (over += 1), 300)
    const asked = [sftp.stat(Buffer.from('a pipe')), sftp.stat(Buffer.from('a file'))]
    await Promise.all(asked.map((answer) => t.rejects(answer, { code: 'timeout', message: /said nothing/ }, name)))
    t.equal(over, 1)
    await t.rejects(sftp.stat(Buffer.from('a file')), { code: 'timeout' })
  }
})
