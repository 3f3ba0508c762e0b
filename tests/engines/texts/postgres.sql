-- head
SELECT * FROM ml.predictions LIMIT 100;

-- summary
SELECT fl_s0, fl_s1, fl_s2, fl_bin, COUNT(*) AS fl_n, CAST(SUM(fl_m) AS BIGINT) AS fl_sum, CAST(SUM(CASE WHEN fl_m % 4096 < 256 THEN CAST(CAST('x' || SUBSTRING(MD5(CAST(fl_id AS TEXT)) FROM 1 FOR 8) AS BIT(32)) AS BIGINT) ELSE 0 END) AS BIGINT) AS fl_hash, COUNT(*) - COUNT(fl_id) AS fl_no_id FROM (SELECT fl_id, fl_s0, fl_s1, fl_s2, COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c * 240 < 239 THEN FLOOR(fl_c * 240) WHEN fl_c >= 0 AND fl_c < 1 THEN 239 + FLOOR((fl_c * 240 - 239) * 16) WHEN fl_c = 1 THEN 254 END AS BIGINT), -1) AS fl_bin, COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c <= 1 THEN FLOOR(fl_c * 4294967296 + 0.5) END AS BIGINT), 0) AS fl_m FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CASE WHEN "new user" THEN 'True' WHEN NOT "new user" THEN 'False' END AS fl_s1, CAST(CAST("50% off" AS BIGINT) AS TEXT) COLLATE "C" AS fl_s2, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions) AS fl_base) AS fl_rows GROUP BY fl_s0, fl_s1, fl_s2, fl_bin;

-- reserve
SELECT fl_w, fl_id, fl_s0, fl_s1, fl_s2, fl_c, fl_x0, fl_key FROM (SELECT fl_id, fl_s0, fl_s1, fl_s2, fl_c, fl_x0, MD5('7|' || fl_id) AS fl_key FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CASE WHEN "new user" THEN 'True' WHEN NOT "new user" THEN 'False' END AS fl_s1, CAST(CAST("50% off" AS BIGINT) AS TEXT) COLLATE "C" AS fl_s2, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions) AS fl_base) AS fl_keyed JOIN (VALUES (0, 'dog', '-', '=7', 'g'), (1, 'it''s a \ cat', '=True', '=7', '0012ab0984ea1')) AS fl_limits(fl_w, fl_t0, fl_t1, fl_t2, fl_upto) ON fl_s0 = fl_t0 AND COALESCE('=' || fl_s1, '-') = fl_t1 AND COALESCE('=' || fl_s2, '-') = fl_t2 WHERE fl_key < fl_upto;

-- strips
SELECT fl_w, fl_id, fl_s0, fl_s1, fl_s2, fl_c, fl_x0, fl_key FROM (SELECT fl_id, fl_s0, fl_s1, fl_s2, fl_c, fl_x0, MD5('7|' || fl_id) AS fl_key FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CASE WHEN "new user" THEN 'True' WHEN NOT "new user" THEN 'False' END AS fl_s1, CAST(CAST("50% off" AS BIGINT) AS TEXT) COLLATE "C" AS fl_s2, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions) AS fl_base) AS fl_keyed JOIN (VALUES (0, 'dog', '-', '=7', 'g', 0, 99)) AS fl_limits(fl_w, fl_t0, fl_t1, fl_t2, fl_upto, fl_low, fl_high) ON fl_s0 = fl_t0 AND COALESCE('=' || fl_s1, '-') = fl_t1 AND COALESCE('=' || fl_s2, '-') = fl_t2 WHERE fl_key < fl_upto AND COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c * 240 < 239 THEN FLOOR(fl_c * 240) WHEN fl_c >= 0 AND fl_c < 1 THEN 239 + FLOOR((fl_c * 240 - 239) * 16) WHEN fl_c = 1 THEN 254 END AS BIGINT), -1) >= fl_low AND COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c * 240 < 239 THEN FLOOR(fl_c * 240) WHEN fl_c >= 0 AND fl_c < 1 THEN 239 + FLOOR((fl_c * 240 - 239) * 16) WHEN fl_c = 1 THEN 254 END AS BIGINT), -1) <= fl_high;

-- repeated ids
SELECT COUNT(*) AS fl_n, MIN(fl_id) AS fl_first FROM (SELECT fl_id FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id FROM ml.predictions) AS fl_base GROUP BY fl_id HAVING COUNT(*) > 1) AS fl_repeated;

-- example
SELECT fl_id, fl_c FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CASE WHEN "new user" THEN 'True' WHEN NOT "new user" THEN 'False' END AS fl_s1, CAST(CAST("50% off" AS BIGINT) AS TEXT) COLLATE "C" AS fl_s2, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions) AS fl_base WHERE COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c * 240 < 239 THEN FLOOR(fl_c * 240) WHEN fl_c >= 0 AND fl_c < 1 THEN 239 + FLOOR((fl_c * 240 - 239) * 16) WHEN fl_c = 1 THEN 254 END AS BIGINT), -1) = -1 LIMIT 1;

-- numbers that are not whole
SELECT COUNT(*) AS fl_n, MIN(fl_x) AS fl_first FROM (SELECT "50% off" AS fl_x FROM ml.predictions) AS fl_base WHERE NOT fl_x IS NULL AND NOT (fl_x = FLOOR(fl_x) AND ABS(fl_x) < 9007199254740992);

-- lookup
SELECT fl_id, fl_s0, fl_s1, fl_s2, fl_c, fl_x0 FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CASE WHEN "new user" THEN 'True' WHEN NOT "new user" THEN 'False' END AS fl_s1, CAST(CAST("50% off" AS BIGINT) AS TEXT) COLLATE "C" AS fl_s2, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions WHERE "id" IN (fl_bound_0_, fl_bound_1_)) AS fl_base;

-- content
SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, "text" FROM ml.predictions WHERE "id" IN (fl_bound_0_, fl_bound_1_);

-- number of rows
SELECT COUNT(*) AS fl_n, COUNT("id") AS fl_ids FROM ml.predictions;

-- spread of numbers
SELECT MIN(CAST("50% off" AS DOUBLE PRECISION)) AS fl_low, MAX(CAST("50% off" AS DOUBLE PRECISION)) AS fl_high, AVG(CAST("50% off" AS DOUBLE PRECISION)) AS fl_mean, STDDEV_POP(CAST("50% off" AS DOUBLE PRECISION)) AS fl_sd FROM ml.predictions;

-- different values
SELECT COUNT(*) AS fl_n FROM (SELECT "text" AS fl_value FROM ml.predictions GROUP BY "text" LIMIT 22) AS fl_values;

-- steps
SELECT fl_s0, fl_s1, fl_s2, fl_bin, COUNT(*) AS fl_n, CAST(SUM(fl_m) AS BIGINT) AS fl_sum, CAST(SUM(CASE WHEN fl_m % 4096 < 256 THEN CAST(CAST('x' || SUBSTRING(MD5(CAST(fl_id AS TEXT)) FROM 1 FOR 8) AS BIT(32)) AS BIGINT) ELSE 0 END) AS BIGINT) AS fl_hash, COUNT(*) - COUNT(fl_id) AS fl_no_id FROM (SELECT fl_id, fl_s0, fl_s1, fl_s2, COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c * 240 < 239 THEN FLOOR(fl_c * 240) WHEN fl_c >= 0 AND fl_c < 1 THEN 239 + FLOOR((fl_c * 240 - 239) * 16) WHEN fl_c = 1 THEN 254 END AS BIGINT), -1) AS fl_bin, COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c <= 1 THEN FLOOR(fl_c * 4294967296 + 0.5) END AS BIGINT), 0) AS fl_m FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CASE WHEN "new user" THEN 'True' WHEN NOT "new user" THEN 'False' END AS fl_s1, CAST(CAST(CASE WHEN CAST("50% off" AS DOUBLE PRECISION) IS NULL THEN NULL ELSE LEAST(11, GREATEST(0, FLOOR(CAST((CAST("50% off" AS DOUBLE PRECISION) - (-1.5)) AS DOUBLE PRECISION) / 0.5))) END AS BIGINT) AS TEXT) COLLATE "C" AS fl_s2, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions) AS fl_base) AS fl_rows GROUP BY fl_s0, fl_s1, fl_s2, fl_bin;

-- bins
SELECT fl_s0, fl_s1, fl_s2, fl_s3, fl_s4, fl_s5, fl_bin, COUNT(*) AS fl_n, CAST(SUM(fl_m) AS BIGINT) AS fl_sum, CAST(SUM(CASE WHEN fl_m % 4096 < 256 THEN CAST(CAST('x' || SUBSTRING(MD5(CAST(fl_id AS TEXT)) FROM 1 FOR 8) AS BIT(32)) AS BIGINT) ELSE 0 END) AS BIGINT) AS fl_hash, COUNT(*) - COUNT(fl_id) AS fl_no_id FROM (SELECT fl_id, fl_s0, fl_s1, fl_s2, fl_s3, fl_s4, fl_s5, COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c * 240 < 239 THEN FLOOR(fl_c * 240) WHEN fl_c >= 0 AND fl_c < 1 THEN 239 + FLOOR((fl_c * 240 - 239) * 16) WHEN fl_c = 1 THEN 254 END AS BIGINT), -1) AS fl_bin, COALESCE(CAST(CASE WHEN fl_c >= 0 AND fl_c <= 1 THEN FLOOR(fl_c * 4294967296 + 0.5) END AS BIGINT), 0) AS fl_m FROM (SELECT CAST("id" AS TEXT) COLLATE "C" AS fl_id, CAST("the ""class""" AS TEXT) COLLATE "C" AS fl_s0, CAST(CASE WHEN "sent" IS NULL THEN NULL WHEN "sent" < CAST('2024-01-01 00:00:00+00:00' AS TIMESTAMPTZ) THEN 0 ELSE 1 END AS TEXT) COLLATE "C" AS fl_s1, CAST(CASE WHEN SUBSTRING(CAST("day" AS TEXT) COLLATE "C" FROM 1 FOR 10) IS NULL OR NOT SUBSTRING(CAST("day" AS TEXT) COLLATE "C" FROM 1 FOR 10) LIKE '____-__-__' THEN NULL WHEN SUBSTRING(CAST("day" AS TEXT) COLLATE "C" FROM 1 FOR 10) < '2024-01-01' THEN 0 ELSE 1 END AS TEXT) COLLATE "C" AS fl_s2, CAST(CASE WHEN SUBSTRING(CAST(TRIM("text") AS TEXT) COLLATE "C" FROM 1 FOR 10) IS NULL OR NOT SUBSTRING(CAST(TRIM("text") AS TEXT) COLLATE "C" FROM 1 FOR 10) LIKE '____-__-__' THEN NULL WHEN SUBSTRING(CAST(TRIM("text") AS TEXT) COLLATE "C" FROM 1 FOR 10) < '2024-01-01' THEN 0 ELSE 1 END AS TEXT) COLLATE "C" AS fl_s3, CAST(CASE WHEN NULLIF(CAST("other" AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION)) IS NULL THEN NULL WHEN NULLIF(CAST("other" AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION)) < -1.5 THEN 0 WHEN NULLIF(CAST("other" AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION)) < 20 THEN 1 ELSE 2 END AS TEXT) COLLATE "C" AS fl_s4, CAST(CASE WHEN NULLIF(CAST("50% off" AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION)) IS NULL THEN NULL WHEN NULLIF(CAST("50% off" AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION)) < 7 THEN 0 ELSE 1 END AS TEXT) COLLATE "C" AS fl_s5, CAST("confidence" AS DOUBLE PRECISION) AS fl_c, "other" AS fl_x0 FROM ml.predictions) AS fl_base) AS fl_rows GROUP BY fl_s0, fl_s1, fl_s2, fl_s3, fl_s4, fl_s5, fl_bin;

-- values
SELECT CAST("50% off" AS DOUBLE PRECISION) AS fl_value FROM ml.predictions WHERE MD5('7|' || CAST("id" AS TEXT) COLLATE "C") < '8000000000000';

-- sample
SELECT *, MD5('7|' || CAST("id" AS TEXT) COLLATE "C") AS fl_key FROM ml.predictions WHERE MD5('7|' || CAST("id" AS TEXT) COLLATE "C") < '8000000000000';
