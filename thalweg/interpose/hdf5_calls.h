// Written by tools/hdf5_calls.py from the headers of HDF5. Name, number of arguments, and the places of an
// identifier and of a file's name among them (-1: none); whether it returns an identifier.
#pragma once

// clang-format off
#define HDF5_OPERATIONS(X) \
    X(H5Aclose, 1, 0, -1, 0) X(H5Aclose_async, 5, 3, -1, 0) X(H5Acreate1, 5, 0, -1, 1) X(H5Acreate2, 6, 0, -1, 1) \
    X(H5Acreate_async, 10, 3, -1, 1) X(H5Acreate_by_name, 8, 0, -1, 1) X(H5Acreate_by_name_async, 12, 3, -1, 1) \
    X(H5Adelete, 2, 0, -1, 0) X(H5Adelete_by_idx, 6, 0, -1, 0) X(H5Adelete_by_name, 4, 0, -1, 0) \
    X(H5Aexists, 2, 0, -1, 0) X(H5Aexists_async, 7, 3, -1, 0) X(H5Aexists_by_name, 4, 0, -1, 0) \
    X(H5Aexists_by_name_async, 9, 3, -1, 0) X(H5Aget_create_plist, 1, 0, -1, 1) X(H5Aget_info, 2, 0, -1, 0) \
    X(H5Aget_info_by_idx, 7, 0, -1, 0) X(H5Aget_info_by_name, 5, 0, -1, 0) X(H5Aget_name, 3, 0, -1, 0) \
    X(H5Aget_name_by_idx, 8, 0, -1, 0) X(H5Aget_num_attrs, 1, 0, -1, 0) X(H5Aget_space, 1, 0, -1, 1) \
    X(H5Aget_storage_size, 1, 0, -1, 0) X(H5Aget_type, 1, 0, -1, 1) X(H5Aiterate1, 4, 0, -1, 0) \
    X(H5Aiterate2, 6, 0, -1, 0) X(H5Aiterate_by_name, 8, 0, -1, 0) X(H5Aopen, 3, 0, -1, 1) \
    X(H5Aopen_async, 7, 3, -1, 1) X(H5Aopen_by_idx, 7, 0, -1, 1) X(H5Aopen_by_idx_async, 11, 3, -1, 1) \
    X(H5Aopen_by_name, 5, 0, -1, 1) X(H5Aopen_by_name_async, 9, 3, -1, 1) X(H5Aopen_idx, 2, 0, -1, 1) \
    X(H5Aopen_name, 2, 0, -1, 1) X(H5Aread, 3, 0, -1, 0) X(H5Aread_async, 7, 3, -1, 0) X(H5Arename, 3, 0, -1, 0) \
    X(H5Arename_async, 7, 3, -1, 0) X(H5Arename_by_name, 5, 0, -1, 0) X(H5Arename_by_name_async, 9, 3, -1, 0) \
    X(H5Awrite, 3, 0, -1, 0) X(H5Awrite_async, 7, 3, -1, 0) X(H5DOappend, 6, 0, -1, 0) \
    X(H5DOread_chunk, 5, 0, -1, 0) X(H5DOwrite_chunk, 6, 0, -1, 0) X(H5Dchunk_iter, 4, 0, -1, 0) \
    X(H5Dclose, 1, 0, -1, 0) X(H5Dclose_async, 5, 3, -1, 0) X(H5Dcreate1, 5, 0, -1, 1) X(H5Dcreate2, 7, 0, -1, 1) \
    X(H5Dcreate_anon, 5, 0, -1, 1) X(H5Dcreate_async, 11, 3, -1, 1) X(H5Ddebug, 1, 0, -1, 0) \
    X(H5Dextend, 2, 0, -1, 0) X(H5Dfill, 5, 1, -1, 0) X(H5Dflush, 1, 0, -1, 0) X(H5Dformat_convert, 1, 0, -1, 0) \
    X(H5Dgather, 7, 0, -1, 0) X(H5Dget_access_plist, 1, 0, -1, 1) X(H5Dget_chunk_index_type, 2, 0, -1, 0) \
    X(H5Dget_chunk_info, 7, 0, -1, 0) X(H5Dget_chunk_info_by_coord, 5, 0, -1, 0) \
    X(H5Dget_chunk_storage_size, 3, 0, -1, 0) X(H5Dget_create_plist, 1, 0, -1, 1) X(H5Dget_num_chunks, 3, 0, -1, 0) \
    X(H5Dget_offset, 1, 0, -1, 0) X(H5Dget_space, 1, 0, -1, 1) X(H5Dget_space_async, 5, 3, -1, 1) \
    X(H5Dget_space_status, 2, 0, -1, 0) X(H5Dget_storage_size, 1, 0, -1, 0) X(H5Dget_type, 1, 0, -1, 1) \
    X(H5Diterate, 5, 1, -1, 0) X(H5Dopen1, 2, 0, -1, 1) X(H5Dopen2, 3, 0, -1, 1) X(H5Dopen_async, 7, 3, -1, 1) \
    X(H5Dread, 6, 0, -1, 0) X(H5Dread_async, 10, 3, -1, 0) X(H5Dread_chunk, 5, 0, -1, 0) \
    X(H5Dread_chunk1, 5, 0, -1, 0) X(H5Dread_chunk2, 6, 0, -1, 0) X(H5Dread_multi, 7, 1, -1, 0) \
    X(H5Dread_multi_async, 11, 4, -1, 0) X(H5Drefresh, 1, 0, -1, 0) X(H5Dscatter, 5, 2, -1, 0) \
    X(H5Dset_extent, 2, 0, -1, 0) X(H5Dset_extent_async, 6, 3, -1, 0) X(H5Dvlen_get_buf_size, 4, 0, -1, 0) \
    X(H5Dvlen_reclaim, 4, 0, -1, 0) X(H5Dwrite, 6, 0, -1, 0) X(H5Dwrite_async, 10, 3, -1, 0) \
    X(H5Dwrite_chunk, 6, 0, -1, 0) X(H5Dwrite_multi, 7, 1, -1, 0) X(H5Dwrite_multi_async, 11, 4, -1, 0) \
    X(H5EScancel, 3, 0, -1, 0) X(H5ESclose, 1, 0, -1, 0) X(H5ESwait, 4, 0, -1, 0) \
    X(H5Fclear_elink_file_cache, 1, 0, -1, 0) X(H5Fclose, 1, 0, -1, 0) X(H5Fclose_async, 5, 3, -1, 0) \
    X(H5Fcreate, 4, 2, 0, 1) X(H5Fcreate_async, 8, 5, 3, 1) X(H5Fdelete, 2, 1, 0, 0) X(H5Fflush, 2, 0, -1, 0) \
    X(H5Fflush_async, 6, 3, -1, 0) X(H5Fformat_convert, 1, 0, -1, 0) X(H5Fget_access_plist, 1, 0, -1, 1) \
    X(H5Fget_create_plist, 1, 0, -1, 1) X(H5Fget_dset_no_attrs_hint, 2, 0, -1, 0) X(H5Fget_eoa, 2, 0, -1, 0) \
    X(H5Fget_file_image, 3, 0, -1, 0) X(H5Fget_fileno, 2, 0, -1, 0) X(H5Fget_filesize, 2, 0, -1, 0) \
    X(H5Fget_free_sections, 4, 0, -1, 0) X(H5Fget_freespace, 1, 0, -1, 0) X(H5Fget_info1, 2, 0, -1, 0) \
    X(H5Fget_info2, 2, 0, -1, 0) X(H5Fget_intent, 2, 0, -1, 0) X(H5Fget_mdc_config, 2, 0, -1, 0) \
    X(H5Fget_mdc_hit_rate, 2, 0, -1, 0) X(H5Fget_mdc_image_info, 3, 0, -1, 0) \
    X(H5Fget_mdc_logging_status, 3, 0, -1, 0) X(H5Fget_mdc_size, 5, 0, -1, 0) \
    X(H5Fget_metadata_read_retry_info, 2, 0, -1, 0) X(H5Fget_mpi_atomicity, 2, 0, -1, 0) X(H5Fget_name, 3, 0, -1, 0) \
    X(H5Fget_obj_count, 2, 0, -1, 0) X(H5Fget_obj_ids, 4, 0, -1, 0) X(H5Fget_page_buffering_stats, 6, 0, -1, 0) \
    X(H5Fget_vfd_handle, 3, 0, -1, 0) X(H5Fincrement_filesize, 2, 0, -1, 0) X(H5Fis_accessible, 2, 1, 0, 0) \
    X(H5Fis_hdf5, 1, -1, 0, 0) X(H5Fmount, 4, 0, 1, 0) X(H5Fopen, 3, 2, 0, 1) X(H5Fopen_async, 7, 5, 3, 1) \
    X(H5Freopen, 1, 0, -1, 1) X(H5Freopen_async, 5, 3, -1, 1) X(H5Freset_mdc_hit_rate_stats, 1, 0, -1, 0) \
    X(H5Freset_page_buffering_stats, 1, 0, -1, 0) X(H5Fset_dset_no_attrs_hint, 2, 0, -1, 0) \
    X(H5Fset_latest_format, 2, 0, -1, 0) X(H5Fset_libver_bounds, 3, 0, -1, 0) X(H5Fset_mdc_config, 2, 0, -1, 0) \
    X(H5Fset_mpi_atomicity, 2, 0, -1, 0) X(H5Fstart_mdc_logging, 1, 0, -1, 0) X(H5Fstart_swmr_write, 1, 0, -1, 0) \
    X(H5Fstop_mdc_logging, 1, 0, -1, 0) X(H5Funmount, 2, 0, 1, 0) X(H5Gclose, 1, 0, -1, 0) \
    X(H5Gclose_async, 5, 3, -1, 0) X(H5Gcreate1, 3, 0, -1, 1) X(H5Gcreate2, 5, 0, -1, 1) \
    X(H5Gcreate_anon, 3, 0, -1, 1) X(H5Gcreate_async, 9, 3, -1, 1) X(H5Gflush, 1, 0, -1, 0) \
    X(H5Gget_comment, 4, 0, -1, 0) X(H5Gget_create_plist, 1, 0, -1, 1) X(H5Gget_info, 2, 0, -1, 0) \
    X(H5Gget_info_async, 6, 3, -1, 0) X(H5Gget_info_by_idx, 7, 0, -1, 0) X(H5Gget_info_by_idx_async, 11, 3, -1, 0) \
    X(H5Gget_info_by_name, 4, 0, -1, 0) X(H5Gget_info_by_name_async, 8, 3, -1, 0) X(H5Gget_linkval, 4, 0, -1, 0) \
    X(H5Gget_num_objs, 2, 0, -1, 0) X(H5Gget_objinfo, 4, 0, -1, 0) X(H5Gget_objname_by_idx, 4, 0, -1, 0) \
    X(H5Gget_objtype_by_idx, 2, 0, -1, 0) X(H5Giterate, 5, 0, -1, 0) X(H5Glink, 4, 0, -1, 0) \
    X(H5Glink2, 5, 0, -1, 0) X(H5Gmove, 3, 0, -1, 0) X(H5Gmove2, 4, 0, -1, 0) X(H5Gopen1, 2, 0, -1, 1) \
    X(H5Gopen2, 3, 0, -1, 1) X(H5Gopen_async, 7, 3, -1, 1) X(H5Grefresh, 1, 0, -1, 0) X(H5Gset_comment, 3, 0, -1, 0) \
    X(H5Gunlink, 2, 0, -1, 0) X(H5Iclear_type, 2, -1, -1, 0) X(H5Idec_ref, 1, 0, -1, 0) \
    X(H5Idec_type_ref, 1, -1, -1, 0) X(H5Idestroy_type, 1, -1, -1, 0) X(H5Iget_file_id, 1, 0, -1, 1) \
    X(H5Iget_name, 3, 0, -1, 0) X(H5Lcopy, 6, 0, -1, 0) X(H5Lcreate_external, 6, 2, -1, 0) \
    X(H5Lcreate_hard, 6, 0, -1, 0) X(H5Lcreate_hard_async, 10, 3, -1, 0) X(H5Lcreate_soft, 5, 1, -1, 0) \
    X(H5Lcreate_soft_async, 9, 4, -1, 0) X(H5Lcreate_ud, 7, 0, -1, 0) X(H5Ldelete, 3, 0, -1, 0) \
    X(H5Ldelete_async, 7, 3, -1, 0) X(H5Ldelete_by_idx, 6, 0, -1, 0) X(H5Ldelete_by_idx_async, 10, 3, -1, 0) \
    X(H5Lexists, 3, 0, -1, 0) X(H5Lexists_async, 8, 3, -1, 0) X(H5Lget_info, 4, 0, -1, 0) \
    X(H5Lget_info1, 4, 0, -1, 0) X(H5Lget_info2, 4, 0, -1, 0) X(H5Lget_info_by_idx, 7, 0, -1, 0) \
    X(H5Lget_info_by_idx1, 7, 0, -1, 0) X(H5Lget_info_by_idx2, 7, 0, -1, 0) X(H5Lget_name_by_idx, 8, 0, -1, 0) \
    X(H5Lget_val, 5, 0, -1, 0) X(H5Lget_val_by_idx, 8, 0, -1, 0) X(H5Lis_registered, 1, -1, -1, 0) \
    X(H5Literate, 6, 0, -1, 0) X(H5Literate1, 6, 0, -1, 0) X(H5Literate2, 6, 0, -1, 0) \
    X(H5Literate_async, 10, 3, -1, 0) X(H5Literate_by_name, 8, 0, -1, 0) X(H5Literate_by_name1, 8, 0, -1, 0) \
    X(H5Literate_by_name2, 8, 0, -1, 0) X(H5Lmove, 6, 0, -1, 0) X(H5Lregister, 1, -1, -1, 0) \
    X(H5Lunpack_elink_val, 5, -1, -1, 0) X(H5Lunregister, 1, -1, -1, 0) X(H5Lvisit, 5, 0, -1, 0) \
    X(H5Lvisit1, 5, 0, -1, 0) X(H5Lvisit2, 5, 0, -1, 0) X(H5Lvisit_by_name, 7, 0, -1, 0) \
    X(H5Lvisit_by_name1, 7, 0, -1, 0) X(H5Lvisit_by_name2, 7, 0, -1, 0) X(H5Mclose, 1, 0, -1, 0) \
    X(H5Mclose_async, 5, 3, -1, 0) X(H5Mcreate, 7, 0, -1, 1) X(H5Mcreate_anon, 5, 0, -1, 1) \
    X(H5Mcreate_async, 11, 3, -1, 1) X(H5Mdelete, 4, 0, -1, 0) X(H5Mexists, 5, 0, -1, 0) X(H5Mget, 6, 0, -1, 0) \
    X(H5Mget_access_plist, 1, 0, -1, 1) X(H5Mget_async, 10, 3, -1, 0) X(H5Mget_count, 3, 0, -1, 0) \
    X(H5Mget_create_plist, 1, 0, -1, 1) X(H5Mget_key_type, 1, 0, -1, 1) X(H5Mget_val_type, 1, 0, -1, 1) \
    X(H5Miterate, 6, 0, -1, 0) X(H5Miterate_by_name, 8, 0, -1, 0) X(H5Mopen, 3, 0, -1, 1) \
    X(H5Mopen_async, 7, 3, -1, 1) X(H5Mput, 6, 0, -1, 0) X(H5Mput_async, 10, 3, -1, 0) \
    X(H5Oare_mdc_flushes_disabled, 2, 0, -1, 0) X(H5Oclose, 1, 0, -1, 0) X(H5Oclose_async, 5, 3, -1, 0) \
    X(H5Ocopy, 6, 0, -1, 0) X(H5Ocopy_async, 10, 3, -1, 0) X(H5Odecr_refcount, 1, 0, -1, 0) \
    X(H5Odisable_mdc_flushes, 1, 0, -1, 0) X(H5Oenable_mdc_flushes, 1, 0, -1, 0) X(H5Oexists_by_name, 3, 0, -1, 0) \
    X(H5Oflush, 1, 0, -1, 0) X(H5Oflush_async, 5, 3, -1, 0) X(H5Oget_comment, 3, 0, -1, 0) \
    X(H5Oget_comment_by_name, 5, 0, -1, 0) X(H5Oget_info, 2, 0, -1, 0) X(H5Oget_info1, 2, 0, -1, 0) \
    X(H5Oget_info2, 3, 0, -1, 0) X(H5Oget_info3, 3, 0, -1, 0) X(H5Oget_info_by_idx, 7, 0, -1, 0) \
    X(H5Oget_info_by_idx1, 7, 0, -1, 0) X(H5Oget_info_by_idx2, 8, 0, -1, 0) X(H5Oget_info_by_idx3, 8, 0, -1, 0) \
    X(H5Oget_info_by_name, 4, 0, -1, 0) X(H5Oget_info_by_name1, 4, 0, -1, 0) X(H5Oget_info_by_name2, 5, 0, -1, 0) \
    X(H5Oget_info_by_name3, 5, 0, -1, 0) X(H5Oget_info_by_name_async, 9, 3, -1, 0) \
    X(H5Oget_native_info, 3, 0, -1, 0) X(H5Oget_native_info_by_idx, 8, 0, -1, 0) \
    X(H5Oget_native_info_by_name, 5, 0, -1, 0) X(H5Oincr_refcount, 1, 0, -1, 0) X(H5Olink, 5, 0, -1, 0) \
    X(H5Oopen, 3, 0, -1, 1) X(H5Oopen_async, 7, 3, -1, 1) X(H5Oopen_by_addr, 2, 0, -1, 1) \
    X(H5Oopen_by_idx, 6, 0, -1, 1) X(H5Oopen_by_idx_async, 10, 3, -1, 1) X(H5Orefresh, 1, 0, -1, 0) \
    X(H5Orefresh_async, 5, 3, -1, 0) X(H5Oset_comment, 2, 0, -1, 0) X(H5Oset_comment_by_name, 4, 0, -1, 0) \
    X(H5Otoken_cmp, 4, 0, -1, 0) X(H5Otoken_from_str, 3, 0, -1, 0) X(H5Otoken_to_str, 3, 0, -1, 0) \
    X(H5Ovisit, 5, 0, -1, 0) X(H5Ovisit1, 5, 0, -1, 0) X(H5Ovisit2, 6, 0, -1, 0) X(H5Ovisit3, 6, 0, -1, 0) \
    X(H5Ovisit_by_name, 7, 0, -1, 0) X(H5Ovisit_by_name1, 7, 0, -1, 0) X(H5Ovisit_by_name2, 8, 0, -1, 0) \
    X(H5Ovisit_by_name3, 8, 0, -1, 0) X(H5Pclose, 1, 0, -1, 0) X(H5Pset_alignment, 3, 0, -1, 0) \
    X(H5Pset_coll_metadata_write, 2, 0, -1, 0) X(H5Pset_dxpl_mpio, 2, 0, -1, 0) X(H5Pset_fapl_mpio, 3, 0, -1, 0) \
    X(H5Rcopy, 2, -1, -1, 0) X(H5Rcreate, 5, 1, -1, 0) X(H5Rcreate_attr, 5, 0, -1, 0) \
    X(H5Rcreate_object, 4, 0, -1, 0) X(H5Rcreate_region, 5, 0, -1, 0) X(H5Rdereference1, 3, 0, -1, 1) \
    X(H5Rdereference2, 4, 0, -1, 1) X(H5Rdestroy, 1, -1, -1, 0) X(H5Requal, 2, -1, -1, 0) \
    X(H5Rget_attr_name, 3, -1, -1, 0) X(H5Rget_file_name, 3, -1, -1, 0) X(H5Rget_name, 5, 0, -1, 0) \
    X(H5Rget_obj_name, 4, 1, -1, 0) X(H5Rget_obj_type1, 3, 0, -1, 0) X(H5Rget_obj_type2, 4, 0, -1, 0) \
    X(H5Rget_obj_type3, 3, 1, -1, 0) X(H5Rget_region, 3, 0, -1, 1) X(H5Rget_type, 1, -1, -1, 0) \
    X(H5Ropen_attr, 3, 1, -1, 1) X(H5Ropen_attr_async, 7, 4, -1, 1) X(H5Ropen_object, 3, 1, -1, 1) \
    X(H5Ropen_object_async, 7, 4, -1, 1) X(H5Ropen_region, 3, 1, -1, 1) X(H5Ropen_region_async, 7, 4, -1, 1) \
    X(H5Tclose, 1, 0, -1, 0) X(H5Tclose_async, 5, 3, -1, 0) X(H5Tcommit1, 3, 0, -1, 0) X(H5Tcommit2, 6, 0, -1, 0) \
    X(H5Tcommit_anon, 4, 0, -1, 0) X(H5Tcommit_async, 10, 3, -1, 0) X(H5Tcommitted, 1, 0, -1, 0) \
    X(H5Tconvert, 6, 0, -1, 0) X(H5Tflush, 1, 0, -1, 0) X(H5Tget_create_plist, 1, 0, -1, 1) X(H5Topen1, 2, 0, -1, 1) \
    X(H5Topen2, 3, 0, -1, 1) X(H5Topen_async, 7, 3, -1, 1) X(H5Treclaim, 4, 0, -1, 0) X(H5Trefresh, 1, 0, -1, 0) \
    X(H5close, 0, -1, -1, 0) X(H5garbage_collect, 0, -1, -1, 0)
// clang-format on
