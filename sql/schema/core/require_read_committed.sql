-- Refuses every isolation level but READ COMMITTED: with an older snapshot the old cursor is read, and messages come
-- twice or not at all. For receive, subscribe and maintain; send, ack and nack work in any.
create function require_read_committed(caller text) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using
      errcode = 'PQ005',
      message = format('%s needs isolation level "read committed", this transaction is "%s"', caller, current_setting('transaction_isolation')),
      hint = 'Its snapshot may be older than the cursor, and messages would come twice. Call it in a transaction of its own.';
  end if;
end
$$;
