/** The SFTP client against servers that misbehave. */
import t from 'tap'
import { SftpClient } from '../../../../../src/cli/workbench/ssh/sftp.ts'

t.test('closes the session of a silent server and rejects its pending calls', async (t) => {
  const greeting = String.raw`printf '\000\000\000\005\002\000\000\000\003'; `
  for (const [name, greets] of [
    ['before its version', ''],
    ['during a request', greeting],
  ] as const) {
    let over = 0
    const server = ['sh', '-c', `${greets}exec cat > /dev/null`]
    const sftp = new SftpClient(server, { PATH: process.env['PATH'] ?? '' }, () => (over += 1), 300)
    const asked = [sftp.stat(Buffer.from('a pipe')), sftp.stat(Buffer.from('a file'))]
    await Promise.all(asked.map((answer) => t.rejects(answer, { code: 'timeout', message: /sent nothing/ }, name)))
    t.equal(over, 1)
    await t.rejects(sftp.stat(Buffer.from('a file')), { code: 'timeout' })
  }
})
