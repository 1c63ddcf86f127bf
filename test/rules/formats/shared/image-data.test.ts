/** Images of requests, as addresses and as data. */
import t from 'tap'
import { requireFileData, requireImageUrl } from '../../../../src/formats/shared/image-data.ts'

const png = 'iVBORw0KGgoAAAANSUhEUg=='

t.test('accepts addresses and images in Base64', async (t) => {
  for (const url of [
    'https://a.example/x.png',
    `data:image/png;base64,${png}`,
    `data:image/png;name=a;charset=utf-8;base64,${png}`,
    `data:IMAGE/svg+xml;base64,${png}`,
    `data:image/png;base64,${png.replace('==', 'A'.repeat(28_000_000))}`,
  ])
    t.equal(requireImageUrl(url, 'url'), url)
})

t.test('refuses everything else, whatever its length is', async (t) => {
  for (const url of [
    'ftp://a.example/x.png',
    `data:text/plain;base64,${png}`,
    `data:image/png,${png}`,
    'data:image/png;base64,hello',
    `data:image/png;base64,${png}!`,
    `data:image/png${';x'.repeat(14_000_000)}`,
    `data:image/png${';x'.repeat(14_000_000)};base64,${png}`,
    `data:image/${'x'.repeat(28_000_000)}`,
  ])
    t.throws(() => requireImageUrl(url, 'url'), { code: 'invalid_request', details: { param: 'url' } })
})

t.test('a file is Base64, with or without line ends and what stands before it', async (t) => {
  const data = 'JVBERi0='
  for (const file of [data, `data:application/pdf;base64,${data}`, 'JVBE\r\nRi0=\r\n', 'A'.repeat(28_000_000)])
    t.equal(requireFileData(file, 'data'), file)
  for (const file of [
    '',
    '!!!!',
    `data:application/pdf;base64,${data}!`,
    `${' '.repeat(1_000_000)}!`,
    `${'A'.repeat(28_000_000)}%`,
    7,
  ])
    t.throws(() => requireFileData(file, 'data'), { code: 'invalid_request', details: { param: 'data' } })
})
