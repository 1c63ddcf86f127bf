/** `svc browser …` as command lines, while a user at the terminal must not notice. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Case } from './support/scene.ts'
import { assertKeepsFocus, succeeds } from './support/scene.ts'

const cases: Readonly<Record<string, Case>> = {
  'browser goto': async (t, scene) => {
    t.match(await scene.run(['browser', 'goto', 'http://127.0.0.1:1/']), { code: 1, stderr: /ERR_/ })
    await scene.result(t, ['browser', 'goto', scene.site])
    t.match(await scene.result(t, ['browser', 'goto', `${scene.site}/moved`]), { status: 200, finalUrl: `${scene.site}/form` })
  },
  'browser snapshot': async (t, scene) =>
    t.match((await scene.run(['browser', 'snapshot'])).stdout, /textbox "Name" \[ref=\w+\]/),
  'browser fill': async (t, scene) => {
    await scene.result(t, ['browser', 'fill', '--selector', '#name', '--text', 'Ada'])
    t.match(await scene.run(['browser', 'fill', '--selector', '#nothing', '--text', 'x']), { code: 5 })
  },
  'browser click': succeeds('browser', 'click', '--selector', '#go'),
  'browser type': succeeds('browser', 'type', '--selector', '[name=a]', '--text', 'typed'),
  'browser press': succeeds('browser', 'press', 'Tab'),
  'browser select': succeeds('browser', 'select', '--selector', '#plan', '--value', 'pro'),
  'browser check': succeeds('browser', 'check', '--selector', '#terms'),
  'browser wait': succeeds('browser', 'wait', '--selector', '#later'),
  'browser get': async (t, scene) =>
    t.match(await scene.run(['browser', 'get', 'value', '--selector', '[name=a]']), { code: 0, stdout: 'typed\n' }),
  'browser eval': async (t, scene) => t.match(await scene.run(['browser', 'eval', '1+1']), { code: 0, stdout: '2\n' }),
  'browser screenshot': async (t, scene) => {
    await scene.result(t, ['browser', 'screenshot', join(scene.dir, 'shot.png'), '--full-page'])
    t.equal(readFileSync(join(scene.dir, 'shot.png')).subarray(1, 4).toString(), 'PNG')
  },
  'browser open': async (t, scene) => t.match(await scene.result(t, ['browser', 'open', scene.site]), { status: 200 }),
  'browser list': async (t, scene) =>
    t.match(await scene.result(t, ['browser', 'list']), { pages: [{ title: /Clicked Ada/ }, { title: 'Start' }] }),
  'browser back': succeeds('browser', 'back', '--page', '1'),
  'browser forward': succeeds('browser', 'forward', '--page', '1'),
  'browser reload': succeeds('browser', 'reload', '--page', '1'),
  'browser close': succeeds('browser', 'close', '2'),
}

t.test('the browser commands work', async (t) => {
  const scene = await assertKeepsFocus(t, ['browser'], cases)
  if (!scene) return
  await t.test('browser focus brings its workspace to the front', async (t) => {
    await scene.result(t, ['workspace', 'new', '--title', 'other'])
    await scene.result(t, ['browser', 'goto', scene.site, '--workspace', '2'])
    const noticed = await scene.user.observeDuring('', () => scene.result(t, ['browser', 'focus', '2']), '')
    t.not(noticed.after, noticed.before)
  })
})
