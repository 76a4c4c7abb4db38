-- Every advisory lock of the product is one 64-bit hash of (schema, purpose, ids), so that two schemas in one database
-- and two purposes in one schema do not meet. Generated functions compute lock_seed once and only the outer hash per call.
create function lock_seed(purpose text, queue_id int) returns bigint
language plpgsql
stable
set search_path from current
as $$
begin
  return hashtextextended(current_schema() || '/' || purpose || '/' || queue_id, 0);
end
$$;

create function lock_key(purpose text, queue_id int, consumer_id int default 0, lane int default 0) returns bigint
language plpgsql
stable
set search_path from current
as $$
begin
  return hashint8extended((consumer_id::bigint << 16) | lane, lock_seed(purpose, queue_id));
end
$$;
