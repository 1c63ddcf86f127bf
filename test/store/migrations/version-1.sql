-- The rows of a database that the first version made: turns of every ending, packs, debt, one turn forgotten, two still held.
insert into account ("id", "email", "plan", "status", "password_hash", "email_verified", "created_at") values
  ('acc_00000000000000000000000001', 'member1@example.org', 'free', 'active', null, 1, 1778673600000),
  ('acc_00000000000000000000000002', 'member2@example.org', 'free', 'active', null, 1, 1778673600000),
  ('acc_00000000000000000000000003', 'member3@example.org', 'free', 'active', null, 1, 1778673600000);
insert into process ("id", "name", "pid", "started_at") values
  (1, 'old', 26347, 1778673600000);
insert into purse ("account", "seq", "hash", "last_turn", "fast_day_id", "fast_day_starts_at", "fast_day_ends_at", "fast_day_granted", "fast_day_reserved", "fast_day_settled", "fast_day_debt", "fast_week_id", "fast_week_starts_at", "fast_week_ends_at", "fast_week_granted", "fast_week_reserved", "fast_week_settled", "fast_week_debt", "fast_month_id", "fast_month_starts_at", "fast_month_ends_at", "fast_month_granted", "fast_month_reserved", "fast_month_settled", "fast_month_debt", "premium_day_id", "premium_day_starts_at", "premium_day_ends_at", "premium_day_granted", "premium_day_reserved", "premium_day_settled", "premium_day_debt", "premium_week_id", "premium_week_starts_at", "premium_week_ends_at", "premium_week_granted", "premium_week_reserved", "premium_week_settled", "premium_week_debt", "premium_month_id", "premium_month_starts_at", "premium_month_ends_at", "premium_month_granted", "premium_month_reserved", "premium_month_settled", "premium_month_debt") values
  ('acc_00000000000000000000000001', 11, x'a213fbf0292bd8d2e243289212d24d30', 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1778716800000, 1778803200000, 1000, 0, 5, 0, 3, 1778457600000, 1779062400000, 3000, 0, 1245, 240, 4, 1777593600000, 1780272000000, 8000, 0, 1245, 240),
  ('acc_00000000000000000000000002', 21, x'367415a0ad1da982e9822692c0fdb16b', 9, 14, 1778716800000, 1778803200000, 1000, 1000, 0, 0, 15, 1778457600000, 1779062400000, 3000, 1000, 0, 0, 16, 1777593600000, 1780272000000, 8000, 1000, 0, 0, 10, 1778716800000, 1778803200000, 900, 895, 5, 0, 2, 1778457600000, 1779062400000, 3000, 895, 12, 0, 3, 1777593600000, 1780272000000, 8000, 895, 12, 0);
insert into bucket ("account", "id", "pool", "window", "starts_at", "ends_at", "granted", "reserved", "settled", "debt") values
  ('acc_00000000000000000000000001', 2, 'premium', 'day', 1778630400000, 1778716800000, 1000, 0, 1240, 240),
  ('acc_00000000000000000000000002', 1, 'premium', 'day', 1778630400000, 1778716800000, 900, 0, 7, 0);
insert into pack ("id", "account", "kind", "pool", "granted", "reserved", "settled", "expires_at", "created_at") values
  ('pack', 'acc_00000000000000000000000001', 'grant', 'premium', 50, 0, 50, 1779278400000, 1778673600000),
  ('later', 'acc_00000000000000000000000002', 'grant', 'fast', 70, 50, 0, 1779278400000, 1778673600000);
insert into turn ("id", "previous", "request_id", "account", "model", "pool", "state", "owner", "until", "started_at", "ended_at", "reserved", "reserved_plan", "reserved_packs", "day_bucket", "week_bucket", "month_bucket", "credits", "debt", "price_input", "price_output", "discount_percent", "input_tokens", "output_tokens", "estimated", "code", "upstream_status", "target", "idempotency_key", "body_hash") values
  (2, 1, 'mbr_1', 'acc_00000000000000000000000001', 'svc-2.1', 'premium', 'settled', 1, 1778677200000, 1778673600000, 1778673600000, 960, 910, '[["pack",50]]', 2, 3, 4, 1200, 240, 435, 870, 75, 10, 20, 0, null, 200, 'main/model', null, null),
  (3, 0, 'mbr_1', 'acc_00000000000000000000000002', 'svc-2.1', 'premium', 'refunded', 1, 1778677200000, 1778673600000, 1778673600000, 100, 100, null, 1, 2, 3, 0, 0, 435, 870, 75, 0, 0, 0, 'upstream_error', 500, null, null, null),
  (4, 3, 'mbr_1', 'acc_00000000000000000000000002', 'svc-2.1', 'premium', 'settled', 1, 1778677200000, 1778673600000, 1778673600000, 100, 100, null, 1, 2, 3, 7, 0, 435, 870, 75, 10, 20, 0, null, 200, 'main/model', null, null),
  (5, 2, 'mbr_1', 'acc_00000000000000000000000001', 'svc-2.1', 'premium', 'settled', 1, 1778763600000, 1778760000000, 1778760000000, 10, 10, null, 9, 3, 4, 5, 0, 435, 870, 75, 10, 20, 0, null, 200, 'main/model', null, null),
  (6, 4, 'mbr_1', 'acc_00000000000000000000000002', 'svc-2.1', 'premium', 'settled', 1, 1778763600000, 1778760000000, 1778673600000, 100, 100, null, 10, 2, 3, 5, 0, 435, 870, 75, 10, 20, 0, null, 200, 'main/model', null, null),
  (7, 6, 'mbr_1', 'acc_00000000000000000000000002', 'svc-2.1', 'fast', 'expired', 1, 1778763600000, 1778760000000, 1778763600000, 100, 100, null, 14, 15, 16, 0, 0, 435, 870, 75, 0, 0, 0, null, null, null, null, null),
  (8, 7, 'mbr_1', 'acc_00000000000000000000000002', 'svc-2.1', 'premium', 'held', 1, 1778763600000, 1778760000000, null, 895, 895, null, 10, 2, 3, 0, 0, 435, 870, 75, 0, 0, 0, null, null, null, null, null),
  (9, 8, 'mbr_1', 'acc_00000000000000000000000002', 'svc-2.1', 'fast', 'held', 1, 1778763600000, 1778760000000, null, 1050, 1000, '[["later",50]]', 14, 15, 16, 0, 0, 435, 870, 75, 0, 0, 0, null, null, null, null, null);
insert into entry ("id", "account", "seq", "kind", "at", "turn", "plan", "debt", "detail", "hash") values
  (1, 'acc_00000000000000000000000001', 1, 'grant', 1778673600000, null, 0, 0, '["pack","grant","premium",50,1779278400000]', x'e0719f6c8fe9a4b2be1cecf5d9ac7c75'),
  (2, 'acc_00000000000000000000000001', 2, 'open', 1778673600000, null, 0, 0, '[2,"premium","day",1778630400000,1778716800000,1000]', x'ac58131a9ee253947b3d46ff40727acd'),
  (3, 'acc_00000000000000000000000001', 3, 'open', 1778673600000, null, 0, 0, '[3,"premium","week",1778457600000,1779062400000,3000]', x'a8214088660b4c00b0188f96d5dfb966'),
  (4, 'acc_00000000000000000000000001', 4, 'open', 1778673600000, null, 0, 0, '[4,"premium","month",1777593600000,1780272000000,8000]', x'79229c95ea94facf69436ae41d926d78'),
  (5, 'acc_00000000000000000000000001', 5, 'hold', 1778673600000, 1, 100, 0, '[2,3,4]', x'2020e5a4c649e5cb930e5d2465e18993'),
  (6, 'acc_00000000000000000000000001', 6, 'settle', 1778673600000, 1, 90, 0, null, x'84bc82320db6faff4e36d5a85527ad87'),
  (7, 'acc_00000000000000000000000001', 7, 'hold', 1778673600000, 2, 910, 0, '[2,3,4,["pack",50]]', x'844b286a3aaddc9423415d4bd4e5bb58'),
  (8, 'acc_00000000000000000000000001', 8, 'settle', 1778673600000, 2, 910, 240, '[["pack",50]]', x'2fc4a8400a4d40fa63fdb1a0d2c0ecd4'),
  (9, 'acc_00000000000000000000000002', 1, 'open', 1778673600000, null, 0, 0, '[1,"premium","day",1778630400000,1778716800000,1000]', x'981e5f7e0f15409f7ec5186ede93eafe'),
  (10, 'acc_00000000000000000000000002', 2, 'open', 1778673600000, null, 0, 0, '[2,"premium","week",1778457600000,1779062400000,3000]', x'763d3f044ae2c666b571b870c8461ff0'),
  (11, 'acc_00000000000000000000000002', 3, 'open', 1778673600000, null, 0, 0, '[3,"premium","month",1777593600000,1780272000000,8000]', x'500fbbfc23bc9ad3af930a05f260e338'),
  (12, 'acc_00000000000000000000000002', 4, 'hold', 1778673600000, 3, 100, 0, '[1,2,3]', x'606b0b87388a4d01e3f6882c9e99e3f9'),
  (13, 'acc_00000000000000000000000002', 5, 'refund', 1778673600000, 3, 0, 0, null, x'8759885249b569f6b529d4e678c6a2de'),
  (14, 'acc_00000000000000000000000002', 6, 'limit', 1778673600000, null, 0, 0, '[1,900]', x'b7089d3672c95ae9fad04c81b4d4c4a2'),
  (15, 'acc_00000000000000000000000002', 7, 'limit', 1778673600000, null, 0, 0, '[2,2900]', x'b26286d446606d7869fb58c5694615f9'),
  (16, 'acc_00000000000000000000000002', 8, 'hold', 1778673600000, 4, 100, 0, '[1,2,3]', x'f8e51c1e4b6d9e37b6ba442c9cb594d4'),
  (17, 'acc_00000000000000000000000002', 9, 'settle', 1778673600000, 4, 7, 0, null, x'835049e37051c9fa947500bf6024fe70'),
  (18, 'acc_00000000000000000000000001', 9, 'open', 1778760000000, null, 0, 0, '[9,"premium","day",1778716800000,1778803200000,1000]', x'164810e38bbb080e6881941e44bf44e7'),
  (19, 'acc_00000000000000000000000001', 10, 'hold', 1778760000000, 5, 10, 0, '[9,3,4]', x'f9a1eae6c7e8dc8287325ba5252d5ddd'),
  (20, 'acc_00000000000000000000000001', 11, 'settle', 1778760000000, 5, 5, 0, null, x'a213fbf0292bd8d2e243289212d24d30'),
  (21, 'acc_00000000000000000000000002', 10, 'open', 1778760000000, null, 0, 0, '[10,"premium","day",1778716800000,1778803200000,900]', x'85051b978f9b8d70ee9f184327c57892'),
  (22, 'acc_00000000000000000000000002', 11, 'limit', 1778760000000, null, 0, 0, '[2,3000]', x'0f180c145b137d4cd3785676ea1117bb'),
  (23, 'acc_00000000000000000000000002', 12, 'hold', 1778760000000, 6, 100, 0, '[10,2,3]', x'02a0839cdd9345e6149427bc92dbbb8c'),
  (24, 'acc_00000000000000000000000002', 13, 'settle', 1778673600000, 6, 5, 0, null, x'442c04c33e52bcd2176fbbcd282a48fa'),
  (25, 'acc_00000000000000000000000002', 14, 'open', 1778760000000, null, 0, 0, '[14,"fast","day",1778716800000,1778803200000,1000]', x'448845a8d0caa1c06f82519488a53bf8'),
  (26, 'acc_00000000000000000000000002', 15, 'open', 1778760000000, null, 0, 0, '[15,"fast","week",1778457600000,1779062400000,3000]', x'7866493a723d5d52112776a1c936ea97'),
  (27, 'acc_00000000000000000000000002', 16, 'open', 1778760000000, null, 0, 0, '[16,"fast","month",1777593600000,1780272000000,8000]', x'a7664402aa080f7e89fd213e93eb741d'),
  (28, 'acc_00000000000000000000000002', 17, 'hold', 1778760000000, 7, 100, 0, '[14,15,16]', x'823f76efc0205d165a6893f896723334'),
  (29, 'acc_00000000000000000000000002', 18, 'expire', 1778763600000, 7, 0, 0, null, x'89c64964248023a9faf49d1f53c22fc5'),
  (30, 'acc_00000000000000000000000002', 19, 'grant', 1778673600000, null, 0, 0, '["later","grant","fast",70,1779278400000]', x'451580f3dbd9617d3043faf7b0ab513e'),
  (31, 'acc_00000000000000000000000002', 20, 'hold', 1778760000000, 8, 895, 0, '[10,2,3]', x'e923ba28dc4ae836365469c2dc7d42c3'),
  (32, 'acc_00000000000000000000000002', 21, 'hold', 1778760000000, 9, 1000, 0, '[14,15,16,["later",50]]', x'367415a0ad1da982e9822692c0fdb16b');
