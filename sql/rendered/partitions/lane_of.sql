CREATE OR REPLACE FUNCTION pgque.lane_of_1(key text, message_id bigint)
 RETURNS integer
 LANGUAGE sql
 STABLE
RETURN COALESCE(pgque.lane_of_key(key, 16), ((message_id % (16)::bigint))::integer);
