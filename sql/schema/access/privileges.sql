-- Nothing for anybody but the owner, and roles if they can be made. If not the schema does without; status() says so, and create_roles() makes
-- them later. An upgrade keeps what was granted by hand.
do $$
declare
  type_name text;
  revocation text;
begin
  if not exists (select from meta) then
    perform revoke_all(array(
      select p.proname from pg_proc p where p.pronamespace = quote_ident(current_schema())::regnamespace
      union
      select c.relname from pg_class c where c.relnamespace = quote_ident(current_schema())::regnamespace
      union
      select t.typname from pg_type t where t.typnamespace = quote_ident(current_schema())::regnamespace
    ));
    for revocation in
      select format('revoke all on schema %I from %s cascade', n.nspname, case when g.grantee = 0 then 'public' else quote_ident(r.rolname) end)
        from pg_namespace n
       cross join lateral aclexplode(n.nspacl) g
        left join pg_roles r on r.oid = g.grantee
       where n.nspname = current_schema() and g.grantee <> n.nspowner
    loop
      execute revocation;
    end loop;
  end if;
  execute format('revoke all on all routines in schema %I from public', current_schema());
  execute format('revoke all on schema %I from public', current_schema());
  foreach type_name in array '{caller,option_kind,message,received_message,sent,found_message,located_message,cancellation,peeked_message,listed_dead_letter,settled_watermark,requeued,delayed_position,consumer_position}'::text[] loop
    execute format(qualified('revoke all on type {schema}.%I from public'), type_name);
  end loop;
  perform grant_queues_again();
  begin
    perform create_roles();
  exception
    when insufficient_privilege or sqlstate 'PQ004' then
      null;
  end;
end
$$;
