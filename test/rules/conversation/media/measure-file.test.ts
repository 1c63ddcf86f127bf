/** Kind, size and units of files in a prompt. */
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { countPdfPages } from '../../../../src/conversation/media/count-pdf-pages.ts'
import { measureFile } from '../../../../src/conversation/media/measure-file.ts'
import type { MediaItem, MediaKind } from '../../../../src/conversation/media/media-item.ts'

const measure = (file: Buffer, kind: MediaKind, mediaType: string | null = null, extension: string | null = null) =>
  measureFile(file.toString('base64'), { kind, mediaType, extension })

function createPdf(pages: number): Buffer {
  const objects = Array.from({ length: pages }, (_, i) => `${i + 3} 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n`)
  return Buffer.from(`%PDF-1.4\n2 0 obj\n<< /Type /Pages /Count ${pages} >>\nendobj\n${objects.join('')}%%EOF`)
}

/** The page objects are in a compressed object stream, as most programs write them. */
function createCompressedPdf(pages: number, filler = ''): Buffer {
  const objects = deflateSync(`${'<</Type/Page/Parent 2 0 R>> '.repeat(pages)}${filler}`)
  const head = `%PDF-1.7\n5 0 obj\n<</Type/ObjStm/N ${pages}/First 9/Filter/FlateDecode/Length ${objects.length}>>stream\r\n`
  return Buffer.concat([Buffer.from(head), objects, Buffer.from('\nendstream\nendobj\n%%EOF')])
}

function createPng(width: number, height: number): Buffer {
  const head = Buffer.alloc(64)
  head.writeUInt32BE(0x89504e47, 0)
  head.writeUInt32BE(0x0d0a1a0a, 4)
  head.write('IHDR', 12)
  head.writeUInt32BE(width, 16)
  head.writeUInt32BE(height, 20)
  return head
}

function createJpeg(width: number, height: number, segmentBytes: number): Buffer {
  const segment = Buffer.alloc(segmentBytes)
  segment.writeUInt16BE(0xffe1, 0)
  segment.writeUInt16BE(segmentBytes - 2, 2)
  const frame = Buffer.alloc(32)
  frame.writeUInt16BE(0xffc0, 0)
  frame.writeUInt16BE(17, 2)
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8]), segment, frame])
}

function createWav(seconds: number): Buffer {
  const file = Buffer.alloc(44 + seconds * 32_000)
  file.write('RIFF', 0)
  file.write('WAVEfmt ', 8)
  file.writeUInt32LE(16, 16)
  file.writeUInt32LE(32_000, 28)
  return file
}

function createMp3(bytes: number): Buffer {
  const file = Buffer.alloc(bytes)
  // MPEG-1 layer 3, 128 kbit/s.
  file.writeUInt32BE(0xfffb9000, 0)
  return file
}

function createMp4(seconds: number): Buffer {
  const file = Buffer.alloc(256)
  file.write('ftypisom', 4)
  file.write('mvhd', 64)
  file.writeUInt32BE(1_000, 64 + 16)
  file.writeUInt32BE(seconds * 1_000, 64 + 20)
  return file
}

t.test('reads pixels, pages and seconds', async (t) => {
  for (const [name, file, kind, units] of [
    ['a PDF', createPdf(7), 'document', 7],
    ['a PDF with object streams', createCompressedPdf(40), 'document', 40],
    ['a PNG', createPng(640, 480), 'image', 640 * 480],
    ['a JPEG behind a preview', createJpeg(3_000, 2_000, 60_000), 'image', 6_000_000],
    ['a GIF', Buffer.concat([Buffer.from('GIF89a'), Buffer.from([10, 0, 20, 0, 0, 0])]), 'image', 200],
    ['a WAV', createWav(3), 'audio', 3],
    ['an MP3', createMp3(160_000), 'audio', 10],
    ['an MP4', createMp4(90), 'video', 90],
  ] as const) {
    const { units: read } = measure(file, kind)
    t.equal(Math.round(read ?? -1), units, name)
  }
})

t.test('has no units for a file that it cannot read', async (t) => {
  const noise = Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7919) % 251))
  for (const [name, file, kind] of [
    ['noise as a document', noise, 'document'],
    ['noise as a picture', noise, 'image'],
    ['noise as sound', noise, 'audio'],
    ['noise as video', noise, 'video'],
    ['a PDF without a page', Buffer.from('%PDF-1.7\nencrypted'), 'document'],
    ['a PDF whose object stream is cut', createCompressedPdf(40).subarray(0, 80), 'document'],
    ['a picture of no size', createPng(0, 5), 'image'],
    ['a JPEG that is cut', createJpeg(3_000, 2_000, 60_000).subarray(0, 1_000), 'image'],
    ['nothing', Buffer.alloc(0), 'document'],
  ] as const)
    t.equal(measure(file, kind).units, null, name)
})

t.test('takes the kind of a file from the file, its type or its name', async (t) => {
  const pdf = createPdf(1)
  const text = Buffer.from('a,b\n1,2\n')
  const kinds: readonly (readonly [MediaItem, MediaKind])[] = [
    [measure(pdf, 'document', 'text/plain'), 'document'],
    [measure(createPng(1, 1), 'document', 'image/png'), 'image'],
    [measure(createWav(1), 'document', 'audio/wav'), 'audio'],
    [measure(text, 'document', 'text/csv'), 'text'],
    [measure(text, 'document', null, 'CSV'), 'text'],
    [measure(text, 'document', null, 'docx'), 'office'],
    [measure(text, 'document', null, 'bin'), 'document'],
    [
      measureFile(`data:application/pdf;base64,${pdf.toString('base64')}`, {
        kind: 'document',
        mediaType: null,
        extension: null,
      }),
      'document',
    ],
  ]
  for (const [item, kind] of kinds) t.equal(item.kind, kind)
  const address = measureFile('https://example.com/a.pdf', { kind: 'document', mediaType: null, extension: null })
  t.strictSame(address, { kind: 'document', bytes: null, units: null })
})

t.test('inflates a bounded number of bytes', async (t) => {
  const bomb = createCompressedPdf(3, ' '.repeat(64 * 1024 * 1024))
  const many = Buffer.concat(Array.from({ length: 200 }, () => bomb))
  const before = process.cpuUsage()
  t.equal(countPdfPages(many), null, 'streams that grow beyond the bound are left out')
  const { user } = process.cpuUsage(before)
  t.ok(user < 2_000_000, `${user / 1000} ms for ${many.length} bytes that inflate to 12 GB`)
})
