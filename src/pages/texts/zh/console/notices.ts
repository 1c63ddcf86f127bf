/** 公告页面的文字。 */
import type { notices as english } from '../../en/console/notices.ts'

export const notices: typeof english = {
  lead: '所有读者都能看到：网站、svc 以及 /v1/notices。',
  none: '暂无公告。',
  add: '添加公告',
  addTitle: '添加公告？',
  change: '修改',
  changeTitle: '修改此公告？',
  changeLead: '已收起的读者会再次看到。',
  end: '立即结束',
  endTitle: '立即结束此公告？',
  endLead: '此后不再显示，但仍保留在此列表中。',
  kind: '类型',
  english: '英文内容',
  englishHint: '可只填一种语言，另一语言的读者也会看到该内容。',
  chinese: '中文内容',
  textHint: '纯文本。以 https:// 开头的地址会变成链接。',
  from: '开始时间',
  fromHint: '例如 2026-11-29 14:05，时区为 {zone}；留空表示现在。',
  until: '结束时间',
  untilHint: '最长为 366 天之后。',
  states: { planned: '未开始', shown: '显示中', over: '已结束' },
  subject: '{state}：{text}',
  done: {
    added: '公告已添加，几秒内即会显示在所有页面。',
    changed: '公告已修改。',
    ended: '公告已结束。',
  },
}
