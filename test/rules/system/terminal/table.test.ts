import t from 'tap'
import { measureWidth } from '../../../../src/system/terminal/measure-width.ts'
import { formatTable } from '../../../../src/system/terminal/table.ts'
import type { Column } from '../../../../src/system/terminal/table.ts'

interface Row {
  readonly name: string
  readonly note: string
  readonly size: number
  readonly until?: string
}
const rows: readonly Row[] = [
  { name: 'alpha', note: 'a note of several words', size: 5 },
  { name: '中文名称', note: 'short', size: 12345 },
]
const columns: readonly Column<Row>[] = [
  { heading: 'NAME', cell: ({ name }) => name },
  { heading: 'NOTE', cell: ({ note }) => note, drop: 1 },
  { heading: 'SIZE', cell: ({ size }) => `${size} bytes`, short: ({ size }) => String(size), align: 'right' },
  { heading: 'UNTIL', cell: ({ until = '' }) => until, drop: 2 },
]

t.test('draws all columns where there is room, and none that is empty and may be left out', async (t) => {
  t.equal(
    formatTable(rows, columns),
    [
      'NAME      NOTE                            SIZE',
      'alpha     a note of several words      5 bytes',
      '中文名称  short                    12345 bytes',
    ].join('\n'),
  )
})

t.test('shortens cells first, then leaves out columns, then breaks cells', async (t) => {
  t.match(formatTable(rows, columns, 42), /^NAME {6}NOTE .* SIZE\nalpha {5}a note of several words {6}5\n/)
  t.equal(formatTable(rows, columns, 20), ['NAME       SIZE', 'alpha         5', '中文名称  12345'].join('\n'))
  t.equal(
    formatTable(
      rows,
      columns.map(({ heading, cell, short, align }) => ({ heading, cell, ...(short && { short }), ...(align && { align }) })),
      32,
    ),
    [
      'NAME      NOTE       SIZE  UNTIL',
      'alpha     a note        5',
      '          of',
      '          several',
      '          words',
      '中文名称  short     12345',
    ].join('\n'),
  )
})

t.test('fits any width in which the shortest columns have room', async (t) => {
  for (let width = 16; width < 70; width++)
    for (const line of formatTable(rows, columns, width).split('\n')) t.ok(measureWidth(line) <= width, `${width}: ${line}`)
})
